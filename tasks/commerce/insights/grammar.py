"""Grammar of the findings on one table, in the Lark notation of llguidance: only a fact, or the choice, can be wrong.

A column leads to the facts that it may have, then to its printed values, then to the rows that hold the value. So a
model that sees which figure stands out need not look up whose it is.
"""

import json
from collections.abc import Iterable

from tasks.commerce.insights.checker import FEWEST, MOST, actions_on
from tasks.commerce.insights.table import FigureTable


def findings_grammar(table: FigureTable) -> str:
    """Return the grammar of an answer's form on a table: compact JSON with its keys in one order."""
    columns = [title for title in table.columns if any((row, title) in table.facts for row in table.rows)]
    rules = [
        f'start: "{{\\"achados\\":[" finding ("," finding){{{FEWEST - 1},{MOST - 1}}} "]}}"',
        f'finding: "{{\\"coluna\\":" ({" | ".join(f"column_{place}" for place in range(len(columns)))}) "}}"',
        f"row: {_one_of(table.rows)}",
    ]
    for place, title in enumerate(columns):
        texts = dict.fromkeys(table.texts[row, title] for row in table.rows if (row, title) in table.facts)
        cells = " | ".join(
            f'{literal(text)} ",\\"linha\\":" ({_one_of(row for row in table.rows if table.texts[row, title] == text)})'
            for text in texts
        )
        advice = _one_of(["", *(each.id for each in actions_on(table.kind, title.lower()))])
        forms = [f'({_one_of(_facts(table, title))}) ",\\"valor\\":" cell_{place}']
        if table.columns[title].vezes and len(table.rows) > 1:
            forms.append(f'{literal("razao")} ",\\"valor\\":" cell_{place} ",\\"outra\\":" row')
        rules += [
            f'column_{place}: {literal(title)} ",\\"fato\\":" ({" | ".join(forms)}) ",\\"acao\\":" ({advice})',
            f"cell_{place}: {cells}",
        ]
    return "\n".join(rules)


def _facts(table: FigureTable, title: str) -> list[str]:
    judged = ["melhor", "pior"] if table.columns[title].melhor else []
    changes = ["subiu", "caiu"] if table.before else []
    return ["valor", "maior", "menor", *judged, "acima", "abaixo", *changes]


def _one_of(texts: Iterable[str]) -> str:
    return " | ".join(map(literal, texts))


def literal(text: str) -> str:
    """Return a text as a literal of the grammar that stands for its JSON string."""
    return json.dumps(json.dumps(text, ensure_ascii=False), ensure_ascii=False)
