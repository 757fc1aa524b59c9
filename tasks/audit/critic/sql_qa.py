"""Critic of SQL: queries that answer another question, and the same query in another form.

A corruption counts only where its rows differ on another store than the reward's copies, so that a reward that cannot
tell the two apart on its copies is at fault; a rewrite only where the rows are the same there.
"""

import random
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from tasks.audit.critic import query_changes, text_changes
from tasks.audit.critic.alteration import Case, Change, CriticAlteration, Severity
from tasks.audit.critic.query_changes import QueryChange, exchanged, replaced
from tasks.audit.critic.wordings import Slots, Way, written
from tasks.commerce.sql_qa.sandbox import Cell, Database, Row

_ROUND: Final = r"ROUND\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*), 2\)"
_FIRST_COLUMNS: Final = re.compile(r"^SELECT ((?:[^()]|\([^()]*(?:\([^()]*\)[^()]*)*\))+?) FROM ")


@lru_cache(maxsize=256)
def rows_of(sql: str, witness: Database) -> list[Row] | None:
    """Return a query's rows with numbers as a reader sees them; sorted where it does not order; None if it fails."""
    execution = witness.execute(sql)
    if execution.refusal is not None:
        return None
    rows = [tuple(map(_shown, row)) for row in execution.rows]
    return rows if re.search(r"\border by\b(?![^()]*\))", sql, re.IGNORECASE) else sorted(rows, key=repr)


def _shown(cell: Cell) -> Cell:
    if isinstance(cell, str) and re.fullmatch(r"-?\d+(?:\.\d+)?", cell):
        cell = float(cell)
    return round(float(cell), 2) if isinstance(cell, int | float) else cell


def _same(sql: str, other: str, case: Case) -> bool | None:
    """Compare the rows on the witness; None without one, or where the other query does not run."""
    right, found = (rows_of(query, case.witness) if case.witness else None for query in (sql, other))
    if right is None or found is None:
        return None
    if "ORDER BY" not in sql:
        right, found = sorted(right, key=repr), sorted(found, key=repr)
    return right == found


def false_query(change: QueryChange) -> Change:
    """Return a change to a query that gives other rows on the witness."""

    def changed(case: Case, generator: random.Random) -> str | None:
        other = change(case.answer, generator)
        if other is None or other == case.answer or (case.witness and _same(case.answer, other, case) is not False):
            return None
        return other

    return changed


def same_query(change: QueryChange) -> Change:
    """Return a change to a query that gives the same rows on the witness."""

    def changed(case: Case, generator: random.Random) -> str | None:
        other = change(case.answer, generator)
        return None if other is None or (case.witness and not _same(case.answer, other, case)) else other

    return changed


def _of_query(change: QueryChange) -> Change:
    return lambda case, generator: change(case.answer, generator)


def slots_of(case: Case, generator: random.Random) -> Slots:  # noqa: ARG001 - every task's signature
    """Return a number that the query gives on another store."""
    rows = None if case.witness is None else rows_of(case.answer, case.witness)
    numbers = [cell for row in rows or () for cell in row if isinstance(cell, float)]
    return {"result": f"{numbers[0]:g}"} if numbers else {}


def _named(case: Case, text: str) -> str | None:
    found = _FIRST_COLUMNS.match(case.answer)
    if not found or found[1] == "*":
        return None
    return f'SELECT {found[1]} AS "{text}" FROM {case.answer[found.end() :]}'  # noqa: S608 - only the sandbox runs it


_FALSE: Final[tuple[tuple[str, Severity, QueryChange, float], ...]] = (
    ("no_conditions", "unsendable", replaced(r" WHERE .*?(?= GROUP| ORDER| LIMIT|$)", "", count=1), 0.7),
    (
        "last_condition_dropped",
        "costly",
        replaced(r" AND (?:(?! AND ).)*?(?= GROUP| ORDER| LIMIT|$)", "", count=1),
        0.2,
    ),
    ("either_condition", "costly", replaced(r"(?<!\d)(?<!\d') AND (?!['\d])", " OR ", count=1), 0.2),
    ("condition_denied", "costly", replaced(r"(\w+|\)) = '", r"\1 <> '", count=1), 0.4),
    ("other_state", "costly", query_changes.other_state, 0.2),
    ("other_year", "costly", query_changes.other_year, 0.1),
    ("other_month", "costly", query_changes.other_month, 0.02),
    ("other_number", "costly", query_changes.other_number, 0.1),
    (
        "limit_of_comparison",
        "costly",
        replaced(r" ([<>])(=?) (?=\d)", lambda f: f" {f[1]}{'' if f[2] else '='} "),
        0.05,
    ),
    ("comparison_turned", "costly", replaced(r" ([<>])(=?) ", lambda f: f" {'<' if f[1] == '>' else '>'}{f[2]} "), 0.1),
    ("sum_for_mean", "costly", replaced(r"\b(SUM|AVG)\(", lambda f: "AVG(" if f[1] == "SUM" else "SUM("), 0.2),
    ("sum_for_count", "costly", replaced(r"COUNT\(\*\)", "SUM(LENGTH(order_id))"), 0.1),
    ("repeated_counted", "costly", replaced(r"COUNT\(DISTINCT ", "COUNT("), 0.02),
    ("highest_for_lowest", "costly", exchanged("MIN", "MAX"), 0.01),
    ("freight_for_price", "costly", exchanged("price", "freight_value"), 0.1),
    ("seller_for_customer", "costly", exchanged("seller_state", "customer_state"), 0.02),
    ("delivery_for_purchase", "costly", exchanged("order_purchase_timestamp", "order_delivered_customer_date"), 0.1),
    ("instalments_for_value", "costly", exchanged("payment_installments", "payment_value"), 0.02),
    ("order_turned", "costly", replaced(r"ORDER BY (\w+) DESC", r"ORDER BY \1"), 0.005),
    ("no_order", "costly", replaced(r" ORDER BY [^()]*$", ""), 0.02),
    ("one_row_more", "costly", replaced(r"LIMIT (\d+)", lambda f: f"LIMIT {int(f[1]) + 1}"), 0.005),
    ("one_row_alone", "costly", replaced(r"(GROUP BY (?:(?!LIMIT)[^()])*)$", r"\1 LIMIT 1"), 0.05),
    ("first_row_missing", "costly", lambda sql, _: f"SELECT * FROM ({sql}) LIMIT -1 OFFSET 1", 0.9),  # noqa: S608 - only the sandbox runs it
    ("columns_swapped", "costly", query_changes.swapped_columns, 0.05),
    ("column_missing", "costly", query_changes.column_missing, 0.05),
    ("columns_added", "costly", replaced(r"^SELECT (.*?) FROM ", r"SELECT \1, COUNT(*), 1, 2 FROM ", count=1), 0.6),
    ("no_group", "costly", replaced(r" GROUP BY 1\b", ""), 0.1),
    ("share_for_percentage", "costly", replaced(r"100\.0 \* ", ""), 0.05),
    ("joined_once_more", "costly", query_changes.joined_once_more, 0.05),
    ("rows_twice", "costly", lambda sql, _: f"SELECT * FROM ({sql}) UNION ALL SELECT * FROM ({sql})", 0.9),  # noqa: S608 - only the sandbox runs it
    ("rounded_to_tens", "costly", replaced(r", 2\)", ", -1)"), 0.3),
    ("rounded_to_units", "costly", replaced(_ROUND, r"CAST(\1 AS INTEGER)"), 0.3),
    ("all_rows", "unsendable", lambda _, __: "SELECT * FROM orders LIMIT 100", 0.9),
)
_SAME: Final[tuple[tuple[str, QueryChange, float], ...]] = (
    ("small_letters", query_changes.in_small_letters, 0.9),
    ("lines", query_changes.with_lines, 0.9),
    (
        "lines_and_small_letters",
        lambda sql, g: query_changes.in_small_letters(query_changes.with_lines(sql, g), g),
        0.9,
    ),
    ("semicolon", lambda sql, _: f"{sql};", 0.9),
    ("line_after", lambda sql, _: f"{sql}\n", 0.9),
    ("semicolon_on_a_line", lambda sql, g: f"{query_changes.with_lines(sql, g)}\n;", 0.9),
    ("joined_on", query_changes.joined_on, 0.3),
    ("inner_join", replaced(r" JOIN ", " INNER JOIN "), 0.4),
    ("table_named", replaced(r" FROM (\w+)(?= WHERE| GROUP|$)", r" FROM \1 AS t", count=1), 0.1),
    ("count_of_one", replaced(r"COUNT\(\*\)", "COUNT(1)"), 0.2),
    ("sum_of_one", replaced(r"COUNT\(\*\)", "COALESCE(SUM(1), 0)"), 0.1),
    ("in_list", replaced(r"(\w+) = ('[^']*')", r"\1 IN (\2)"), 0.4),
    ("parentheses", replaced(r"(\w+ [<>=]+ (?:'[^']*'|\d+))", r"(\1)"), 0.4),
    ("two_equals", replaced(r"(?<![<>!=]) = ", " == "), 0.4),
    ("like", replaced(r"(customer_state|seller_state|order_status) = '", r"\1 LIKE '"), 0.2),
    ("not_unequal", replaced(r"(\w+) = ('[^']*')(?! AND 1)", r"NOT \1 <> \2"), 0.3),
    ("conditions_turned", query_changes.conditions_turned, 0.2),
    ("two_limits", replaced(r"(\w+) BETWEEN (\d+) AND (\d+)", r"\1 >= \2 AND \1 <= \3"), 0.01),
    ("no_rounding", replaced(_ROUND, r"\1"), 0.3),
    ("mean_by_hand", query_changes.averaged_by_hand, 0.1),
    ("dates_compared", query_changes.within_dates, 0.05),
    ("year_cut_out", replaced(r"strftime\('%Y', (\w+)\)", r"substr(\1, 1, 4)"), 0.05),
    ("month_cut_out", replaced(r"strftime\('%Y-%m', (\w+)\)", r"substr(\1, 1, 7)"), 0.1),
    ("year_as_number", replaced(r"(strftime\('%Y', \w+\)) = '(\d{4})'", r"CAST(\1 AS INTEGER) = \2"), 0.05),
    ("with_table", query_changes.in_a_table_of_its_own, 0.7),
    ("subquery", query_changes.in_a_subquery, 0.7),
    ("order_said", replaced(r"(ORDER BY (?:\d DESC, )?1)\b", r"\1 ASC"), 0.05),
)
_UNCHECKED: Final[tuple[tuple[str, QueryChange, float], ...]] = (
    ("fenced", lambda sql, _: f"```sql\n{sql}\n```", 0.9),
    ("fenced_with_lines", lambda sql, g: f"```sql\n{query_changes.with_lines(sql, g)};\n```", 0.9),
    ("formatted", replaced(_ROUND, r"printf('%.2f', \1)"), 0.3),
)
"""Rewrites that the sandbox itself does not run as they stand."""
_WAYS: Final[Mapping[str, Way]] = {
    "after": lambda case, text: f"{case.answer}\n\n{text}",
    "comment": lambda case, text: f"{case.answer} -- {text}",
    "comment_before": lambda case, text: f"-- {text}\n{case.answer}",
    "instead": lambda _, text: text,
    "statement": lambda case, text: f"{case.answer}; {text}",
    "statement_before": lambda case, text: f"{text}; {case.answer}",
    "below": lambda case, text: f"{case.answer}\n\n{text}",
    "name": _named,
}

ALTERATIONS: Final = (
    *(CriticAlteration(name, severity, false_query(change), applies) for name, severity, change, applies in _FALSE),
    *written("sql_qa", slots_of, _WAYS, "comment"),
    CriticAlteration("salad", "unsendable", text_changes.salad),
    CriticAlteration("prompt_again", "unsendable", text_changes.prompt_again),
    CriticAlteration("instruction_again", "unsendable", text_changes.system_again),
    CriticAlteration("cut_off", "unsendable", text_changes.cut_off),
    *(CriticAlteration(name, "harmless", same_query(change), applies) for name, change, applies in _SAME),
    *(CriticAlteration(name, "harmless", _of_query(change), applies) for name, change, applies in _UNCHECKED),
)
