"""Grammar of the findings on one table, in the Lark notation of llguidance: nothing false can be said, only chosen.

A column leads to the facts that its cells have, a fact to values and rows, and a row to the actions that fit there. The
only cell of a fact is not told twice in a row, as small models would; a grammar sees no other repetition.
"""

from collections.abc import Mapping, Sequence

from tasks.commerce.grammar import literals
from tasks.commerce.insights.best import STRONGEST
from tasks.commerce.insights.checker import FEWEST, MOST, CitedFinding, actions_on, fits
from tasks.commerce.insights.table import FigureTable

ANY = "any"
"""In the place of a cell where several have the fact."""


def findings_grammar(table: FigureTable) -> str:
    """Return the grammar of an answer's form on a table: compact JSON with its keys in one order."""
    cells, rules = {}, []
    for place, title in enumerate(table.columns):
        for fact in STRONGEST:
            rows = [row for row in table.rows if fact in table.facts.get((row, title), ())]
            if rows:
                is_alone = len(rows) == 1 and fact != "razao"
                cells[f"{fact}_{place}"] = f"{table.rows.index(rows[0])}_{place}" if is_alone else ANY
                rules.append(f"{fact}_{place}: {_finding(table, title, fact, rows)}")
    for said in range(1, MOST):
        for cell in dict.fromkeys(cells.values()):
            others = {name: its for name, its in cells.items() if its != cell or cell == ANY} or cells
            rules.append(f'after_{cell}_{said}: ("," ({_next(others, said + 1)})){"?" if said >= FEWEST else ""}')
    return "\n".join([f'start: "{{\\"achados\\":[" ({_next(cells, 1)}) "]}}"', *rules])


def _next(cells: Mapping[str, str], said: int) -> str:
    """Return findings by name, each with what may follow its cell once so many are said."""
    return " | ".join(name + (f" after_{cell}_{said}" if said < MOST else "") for name, cell in cells.items())


def _finding(table: FigureTable, title: str, fact: str, rows: Sequence[str]) -> str:
    cells = " | ".join(
        f'{literals([table.texts[row, title]])} ",\\"linha\\":" {_row(table, CitedFinding(title, fact, "", row, ""))}'
        for row in rows
    )
    begun = f'"{{\\"coluna\\":" {literals([title])} ",\\"fato\\":" {literals([fact])}'
    return f'{begun} ",\\"valor\\":" ({cells}) "}}"'


def _row(table: FigureTable, finding: CitedFinding) -> str:
    fitting = [each.id for each in actions_on(table.kind, finding.coluna.lower()) if fits(table, finding, each)]
    other = ""
    if finding.fato == "razao":
        lower = [row for row in table.rows if table.times(finding.linha, row, finding.coluna)]
        other = f' ",\\"outra\\":" ({literals(lower)})'
    return f'{literals([finding.linha])}{other} ",\\"acao\\":" ({literals(["", *fitting])})'
