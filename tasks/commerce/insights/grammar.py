"""Grammar of the findings on one table, in the Lark notation of llguidance: nothing false can be said, only chosen.

A column leads to the facts that some cell of it has, a fact to the printed values of those cells, a value to the rows
that hold it, and a row to the actions that fit there. So a model chooses what is worth a sentence. Findings may still
repeat a cell or an action, since a grammar without memory cannot know.
"""

import json
from collections import defaultdict
from collections.abc import Iterable

from tasks.commerce.insights.best import STRONGEST
from tasks.commerce.insights.checker import FEWEST, MOST, CitedFinding, actions_on, fits
from tasks.commerce.insights.table import FigureTable


def findings_grammar(table: FigureTable) -> str:
    """Return the grammar of an answer's form on a table: compact JSON with its keys in one order."""
    columns = [title for title in table.columns if any((row, title) in table.facts for row in table.rows)]
    named = {f"column_{place}": _after_column(table, title) for place, title in enumerate(columns)}
    rules = [
        f'start: "{{\\"achados\\":[" finding ("," finding){{{FEWEST - 1},{MOST - 1}}} "]}}"',
        f'finding: "{{\\"coluna\\":" ({" | ".join(named)}) "}}"',
        *(f"{name}: {rule}" for name, rule in named.items()),
    ]
    return "\n".join(rules)


def _after_column(table: FigureTable, title: str) -> str:
    facts = []
    for fact in STRONGEST:
        cells: dict[str, list[str]] = defaultdict(list)
        for row in table.rows:
            if fact in table.facts.get((row, title), ()):
                cells[table.texts[row, title]].append(_after_value(table, CitedFinding(title, fact, "", row, "")))
        if cells:
            values = " | ".join(f'{literal(text)} ",\\"linha\\":" ({" | ".join(rows)})' for text, rows in cells.items())
            facts.append(f'{literal(fact)} ",\\"valor\\":" ({values})')
    return f'{literal(title)} ",\\"fato\\":" ({" | ".join(facts)})'


def _after_value(table: FigureTable, finding: CitedFinding) -> str:
    fitting = [each.id for each in actions_on(table.kind, finding.coluna.lower()) if fits(table, finding, each)]
    other = ""
    if finding.fato == "razao":
        lower = [row for row in table.rows if table.times(finding.linha, row, finding.coluna)]
        other = f' ",\\"outra\\":" ({one_of(lower)})'
    return f'{literal(finding.linha)}{other} ",\\"acao\\":" ({one_of(["", *fitting])})'


def one_of(texts: Iterable[str]) -> str:
    """Return the alternatives of some texts, each as its JSON string."""
    return " | ".join(map(literal, texts))


def literal(text: str) -> str:
    """Return a text as a literal of the grammar that stands for its JSON string."""
    return json.dumps(json.dumps(text, ensure_ascii=False), ensure_ascii=False)
