"""Insights: claims on given figures, each with an action, that code checks and data says."""

import json
import random
from collections.abc import Iterator, Sequence
from typing import Final

from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.evidence.automaton import automaton
from tasks.commerce.grammar import FAULTS, literals
from tasks.commerce.insights import scorer
from tasks.commerce.insights.prompts import InsightsInputs
from tasks.commerce.insights.table import FigureTable, actions_on, read_table
from tasks.commerce.insights.truth import metric
from tasks.commerce.reward import Reference
from tasks.commerce.served import written

CELL_PARTS: Final = 4  # Of a reference's cell: kind of row, row, column, figure.
ANY: Final = "any"  # In the place of a cell where several have the fact.


def answer(reference: Reference) -> str:
    """Return the best findings on a reference's table; none if it knows none."""
    cells = [str(fact).split(" | ") for fact in reference.get("facts") or ()]
    if not cells or any(len(each) != CELL_PARTS for each in cells):
        return written({"achados": []})
    rows: dict[str, list[str]] = {}
    for _, row, _, figure in cells:
        rows.setdefault(row, [row]).append(figure)
    lines = [[cells[0][0], *dict.fromkeys(title for _, _, title, _ in cells)], *rows.values()]
    table = read_table("\n".join(" | ".join(line) for line in lines))
    keys = ("coluna", "fato", "valor", "linha", "outra", "acao")
    best = (each._asdict() for each in scorer.best_of(table)[0]) if table else ()
    return written({"achados": [{key: each[key] for key in keys if each[key] or key != "outra"} for each in best]})


def spoil(right: str, generator: random.Random) -> str:
    """Say mere values and leave actions out, each at times; a grammar lets nothing false be said."""
    findings = json.loads(right)["achados"]
    for finding in findings:
        if generator.random() < FAULTS.insights.mere_value:
            finding["fato"] = "valor"
            finding.pop("outra", None)
        if generator.random() < FAULTS.insights.no_action:
            finding["acao"] = ""
    return written({"achados": findings})


def findings_grammar(table: FigureTable) -> str:
    """Return the grammar of an answer's form on a table: compact JSON with its keys in one order."""
    cells, rules = {}, []
    for place, title in enumerate(table.columns):
        for fact in scorer.STRONGEST:
            rows = [row for row in table.rows if fact in table.facts.get((row, title), ())]
            if rows:
                is_alone = len(rows) == 1 and fact != "razao"
                cells[f"{fact}_{place}"] = f"{table.rows.index(rows[0])}_{place}" if is_alone else ANY
                rules.append(f"{fact}_{place}: {_finding(table, title, fact, rows)}")

    def moves(state: tuple[int, str]) -> Iterator[tuple[str, tuple[int, str] | None]]:
        said, last = state
        if said >= min(scorer.FEWEST, len(table.facts)):
            yield '"]}"', None
        # The only cell of a fact is not told twice in a row.
        others = {name: cell for name, cell in cells.items() if cell != last or last == ANY} or cells
        before = '","' if said else r'"{\"achados\":["'
        for name, cell in others.items() if said < scorer.MOST else ():
            yield f"{before} {name}", (said + 1, cell if said + 1 < scorer.MOST else ANY)

    return "\n".join([automaton((0, ANY), moves), *rules])


def _finding(table: FigureTable, title: str, fact: str, rows: Sequence[str]) -> str:
    cells = []
    for row in rows:
        bare = scorer.CitedFinding(title, fact, "", row, "")
        known = actions_on(table.kind, table.columns[title].como)
        fitting = ["", *(each.id for each in known if scorer.fits(table, bare, each))]
        lower = [each for each in table.rows if fact == "razao" and table.times(row, each, title)]
        other = f' ",\\"outra\\":" ({literals(lower)})' if lower else ""
        its = f'{literals([row])}{other} ",\\"acao\\":" ({literals(fitting)})'
        cells.append(f'{literals([table.texts[row, title]])} ",\\"linha\\":" {its}')
    begun = f'"{{\\"coluna\\":" {literals([title])} ",\\"fato\\":" {literals([fact])}'
    return f'{begun} ",\\"valor\\":" ({" | ".join(cells)}) "}}"'


TASK: Final = CommerceTask(
    name="insights",
    description=described(__doc__),
    inputs=InsightsInputs,
    answer=answer,
    rewards={"grounded": scorer.REWARD, "v4.2": scorer.V42_REWARD},
    metric=metric,
    answer_metrics=(
        *("in_form", "no_false_claim", "no_repetition", "says_more_than_values", "sensible_actions"),
        "all_kept",
    ),
    content=frozenset({"claims"}),
    faults=spoil,
    answers_in_json=True,
    asked_by_reference=True,
    serve=lambda completion, prompt, _: scorer.render(completion, prompt),
    prompt_grammar=lambda prompt: findings_grammar(table) if (table := read_table(prompt)) else "",
)
