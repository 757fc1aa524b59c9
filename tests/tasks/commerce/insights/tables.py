"""Tables for the tests of evidence: small ones with ties and gaps, and an answer of given findings."""

import json
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from tasks.commerce.insights.prompts import cells_of
from tasks.commerce.insights.scorer import STRONGEST
from tasks.commerce.insights.table import FigureTable, read_table
from tasks.commerce.insights.truth import Known, read_cells
from tests.cases import cases_of

CASES = cases_of(__file__)
COLUMNS, ROWS = CASES["columns"], CASES["rows"]
"""How the cells of a column are printed, and from which figure up to which; and names of rows by their kind."""


def prompt_of(kind: str, columns: list[str], rows: dict[str, list[str]]) -> str:
    lines = [[kind, *columns], *([row, *cells] for row, cells in rows.items())]
    return "\n".join(["Analise.", "Período: jan/2018 a mai/2018", *(" | ".join(line) for line in lines)])


def answer_of(*findings: dict[str, Any]) -> str:
    return json.dumps({"achados": findings}, ensure_ascii=False, separators=(",", ":"))


def finding(fact: str, value: str, row: str = "SP", column: str = "Receita", action: str = "") -> dict[str, str]:
    return {"coluna": column, "fato": fact, "valor": value, "linha": row, "acao": action}


def table_of(prompt: str) -> FigureTable:
    table = read_table(prompt)
    assert table is not None
    return table


def known_of(prompt: str) -> Known:
    known = read_cells(cells_of(prompt))
    assert known is not None
    return known


@st.composite
def prompts(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(sorted(ROWS)))
    rows = draw(st.lists(st.sampled_from(ROWS[kind]), min_size=1, max_size=4, unique=True))
    columns = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4, unique=True))
    steps = draw(st.sampled_from((3, 10, 200)))

    def cell(column: str) -> str:
        form, low, high = COLUMNS[column]
        value = low + (high - low) * draw(st.integers(0, steps)) / steps
        return form.format(value).translate(str.maketrans(",.", ".,"))

    prompt = prompt_of(kind, columns, {row: [cell(column) for column in columns] for row in rows})
    # By chance a row may be the sum of all others, and then there is no table.
    assume(read_table(prompt))
    return prompt


@st.composite
def broken_prompts(draw: st.DrawFn) -> str:
    columns = draw(st.lists(st.sampled_from((*COLUMNS, "receita", "PEDIDOS", "Margem")), min_size=1, max_size=4))
    rows = draw(st.lists(st.sampled_from((*CASES["odd_rows"], "BA", "RJ", "MG")), min_size=1, max_size=4))
    cells = st.lists(st.sampled_from(CASES["odd_cells"]), min_size=len(columns), max_size=len(columns))
    return prompt_of(draw(st.sampled_from((*ROWS, "UF"))), columns, {row: draw(cells) for row in rows})


def claims_on(prompt: str) -> list[dict[str, str]]:
    """Return every finding that can be written about a prompt's cells, true and false ones."""
    cells = [cell.split(" | ") for cell in cells_of(prompt)]
    rows = list(dict.fromkeys(row for _, row, _, _ in cells))
    found = []
    for _, row, column, value in cells:
        for fact in STRONGEST:
            claim = finding(fact, value, row, column)
            found += [claim | {"outra": other} for other in rows] if fact == "razao" else [claim]
    return found
