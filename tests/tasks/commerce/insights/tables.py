"""Tables for the tests of evidence: small ones with ties and gaps, and an answer of given findings."""

import json
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from tasks.commerce.insights.prompts import cells_of
from tasks.commerce.insights.scorer import STRONGEST
from tasks.commerce.insights.table import FigureTable, read_table
from tasks.commerce.insights.truth import Known, read_cells

COLUMNS = {
    "Receita": ("R$ {:,.0f}", 0, 4_000),
    "Pedidos": ("{:,.0f}", 5, 90),
    "Número de vendas": ("{:,.0f}", 5, 90),
    "Atrasos": ("{:.1f}%", 0, 12),
    "Nota média": ("{:.1f}", 1, 5),
    "Ticket médio": ("R$ {:,.0f}", 20, 300),
    "Frete médio": ("R$ {:,.0f}", 8, 30),
}
"""How a cell is printed, and from which figure up to which."""
ROWS = {
    "Estado": ("SP", "BA", "RJ", "Mato Grosso", "Mato Grosso do Sul", "Sergipe"),
    "Estado do vendedor": ("SP", "PR", "Mato Grosso", "Mato Grosso do Sul"),
    "Categoria": ("ferramentas", "ferramentas de jardim", "cama, mesa e banho", "pet shop"),
    "Pagamento": ("boleto", "cupom", "cartão de crédito", "Pix"),
    "Dia da compra": ("segunda-feira", "sábado", "domingo", "sexta-feira"),
    "Mês": ("dezembro/2017", "janeiro/2018", "fevereiro/2018", "maio/2018"),
}


def prompt_of(kind: str, columns: list[str], rows: dict[str, list[str]]) -> str:
    """Return a prompt on a table."""
    lines = [[kind, *columns], *([row, *cells] for row, cells in rows.items())]
    return "\n".join(["Analise.", "Período: jan/2018 a mai/2018", *(" | ".join(line) for line in lines)])


def answer_of(*findings: dict[str, Any]) -> str:
    """Return an answer as a model writes it."""
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
    """Draw a prompt on a table of known columns, with ties often."""
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


ODD_CELLS = (
    *("-", "", "R$ -", "-10", "-1", "0", "5", "40", "320", "4.125", "4,5", "4,1", "R$ 500", "R$ 98,5", "R$ 1.2.3"),
    *("45%", "8,0%", "0,1%", "0,2%", "999%", "inf", "9" * 330, "1e9", "٤", "R$ 120.500", "R$ -614", "1,2,3", "%"),
)
ODD_ROWS = (
    *(
        "SP",
        "São Paulo",
        "sp",
        "Brasil",
        "Total 2018",
        "Demais estados",
        "Não informado",
        "janeiro",
        "março/",
        "ÿ/2018",
    ),
    *("abril/18", "maio/2018/2019", "maio/2018", "abril/2018", "zzz/0000", "segunda", "domingo", "Pix"),
)


@st.composite
def broken_prompts(draw: st.DrawFn) -> str:
    """Draw a prompt on a table of odd cells, names and titles, of which little can be said."""
    columns = draw(st.lists(st.sampled_from((*COLUMNS, "receita", "PEDIDOS", "Margem")), min_size=1, max_size=4))
    rows = draw(st.lists(st.sampled_from((*ODD_ROWS, "BA", "RJ", "MG")), min_size=1, max_size=4))
    cells = st.lists(st.sampled_from(ODD_CELLS), min_size=len(columns), max_size=len(columns))
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
