"""Probes of sql_qa: its own words, and the properties of its reward."""

from collections.abc import Mapping
from typing import Final

from tasks.audit.completions import anchored, any_task, queries
from tasks.audit.probes.anchor_grades import anchor_grades
from tasks.audit.probes.properties import (
    ANCHORED,
    ERROR_COST,
    TOLERANCE,
    WRONG,
    Probed,
    Property,
    anchors,
    ceiling,
    changes_nothing,
    content_before_form,
    costs,
)
from tasks.audit.probes.task_probes import TaskProbes

MOST_SALES: Final = 2**20
"""Whole reais; the part of a store that is queried sells for less."""


def _order_of_rows(prompt: Probed) -> Mapping[str, float]:
    ways = queries.sorted_both_ways(prompt.asked)
    # A single row has no order.
    if not ways or prompt.best - prompt.reward(queries.first_row(prompt.asked)) <= TOLERANCE:
        return {}
    return {"rows in another order": max(prompt.best - prompt.reward(query) for query in ways.values())}


def _one_store(prompt: Probed) -> Mapping[str, float]:
    """Search for an amount of sales such that a query that is right only on stores with that amount earns everything.

    No two copies of a store have the same sales: if there is such an amount, only one copy was queried.
    """

    def cost(comparison: str, sales: int) -> float:
        return prompt.best - prompt.reward(queries.for_stores_of(prompt.asked, comparison, sales))

    fewest, most = 0, MOST_SALES
    while fewest < most:
        middle = (fewest + most + 1) // 2
        fewest, most = (middle, most) if cost(">=", middle) <= TOLERANCE else (fewest, middle - 1)
    return {"right on one store only": cost("=", fewest)}


def _columns(prompt: Probed) -> int:
    """Return the number of columns of the right result; 0 where it is more than a few."""
    chosen = ((count, ", ".join(f"c{place}" for place in range(1, count + 1))) for count in range(1, 5))
    return next(
        (
            count
            for count, names in chosen
            if prompt.best - prompt.reward(anchored.with_columns(prompt.asked, count, names)) <= TOLERANCE
        ),
        0,
    )


def _order_of_columns(prompt: Probed) -> Mapping[str, float]:
    count = _columns(prompt)
    turned = ", ".join(f"c{place}" for place in range(count, 0, -1))
    if count < 2:
        return {}
    result = prompt.components(anchored.with_columns(prompt.asked, count, turned))["result"]
    return {"columns turned round": abs(result - anchor_grades("sql_qa")["columns turned round"]["result"])}


def _half_a_cent(prompt: Probed) -> Mapping[str, float]:
    """Measure the cost of another last column: by what rounding does, and by a little more."""
    count = _columns(prompt)
    before = [f"c{place}" for place in range(1, count)]

    def cost(last: str) -> float:
        return prompt.best - prompt.reward(anchored.with_columns(prompt.asked, count, ", ".join([*before, last])))

    # A text plus 0 is no longer the text.
    if not count or cost(f"c{count} + 0") > TOLERANCE:
        return {}
    return {
        "half a cent more": cost(f"c{count} + 0.005"),
        "half a cent less": cost(f"c{count} - 0.005"),
        "most of a cent more, which must cost": ERROR_COST - cost(f"c{count} + 0.0072"),
        "twice as much, which must cost": ERROR_COST - cost(f"2 * c{count} + 1"),
    }


PROBES: Final = TaskProbes(
    keywords="SELECT FROM WHERE GROUP BY ORDER BY COUNT SUM AVG orders items products customers reviews price",
    answer_format="SELECT coluna FROM tabela WHERE condição GROUP BY coluna ORDER BY coluna LIMIT n",
    other_language="SELECT COUNT(*) FROM pedidos WHERE situação = 'entregue'",
    own=(
        changes_nothing("same_query", queries.same_query),
        ceiling("no_result", queries.no_results),
        ceiling("write", queries.writes),
        ceiling("wrong_answer", queries.wrong_answer, WRONG),
        costs("wrong_result", queries.wrong_results),
        costs("without_condition", queries.without_condition),
        Property("order_of_rows", _order_of_rows, "costs", at_least=ERROR_COST),
        Property("order_of_columns", _order_of_columns, "differs from its documented grade by", at_most=ANCHORED),
        Property("half_a_cent", _half_a_cent, "costs or lacks", at_most=0),
        Property("several_stores", _one_store, "costs", at_least=ERROR_COST),
        anchors(anchor_grades("sql_qa"), anchored.sql_forms),
        content_before_form(any_task.chatter, queries.wrong_answer),
    ),
)
