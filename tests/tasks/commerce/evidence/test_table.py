"""Tables: whose cells can be read and compared, and which cannot."""

import pytest

from tasks.commerce.evidence.table import read_table
from tests.tasks.commerce.evidence.tables import prompt_of


def test_one_row_has_nothing_but_its_values() -> None:
    table = read_table(prompt_of("Estado", ["Receita", "Atrasos"], {"SP": ["R$ 10", "3,0%"]}))
    assert table is not None
    assert set(table.facts.values()) == {frozenset(("valor",))}


def test_equal_cells_have_no_end() -> None:
    table = read_table(prompt_of("Estado", ["Receita"], {"SP": ["R$ 10"], "RJ": ["R$ 10"], "BA": ["R$ 4"]}))
    assert table is not None
    assert "maior" not in table.facts["SP", "Receita"]
    assert "menor" in table.facts["BA", "Receita"]


def test_beside_a_cell_without_a_figure_nothing_is_compared() -> None:
    rows = {"SP": ["R$ 900", "3,0%"], "RJ": ["R$ -", "9,0%"], "BA": ["R$ 4", "1,0%"]}
    table = read_table(prompt_of("Estado", ["Receita", "Atrasos"], rows))
    assert table is not None
    assert table.facts["SP", "Receita"] == {"valor"}
    assert ("RJ", "Receita") not in table.facts
    assert "pior" in table.facts["RJ", "Atrasos"]


def test_units_of_one_column_are_one() -> None:
    table = read_table(prompt_of("Estado", ["Receita"], {"SP": ["R$ 9"], "RJ": ["5%"], "BA": ["R$ 4"]}))
    assert table is not None
    assert table.facts["SP", "Receita"] == {"valor"}


def test_the_median_is_the_printed_one() -> None:
    rows = {"SP": ["R$ 15"], "RJ": ["R$ 16"], "BA": ["R$ 4"], "MG": ["R$ 90"]}
    table = read_table(prompt_of("Estado", ["Frete médio"], rows))
    assert table is not None
    assert table.medians["Frete médio"] == 16
    assert "acima" not in table.facts["RJ", "Frete médio"]


def test_a_row_of_sums_is_no_row() -> None:
    table = read_table(prompt_of("Estado", ["Receita"], {"SP": ["R$ 9"], "RJ": ["R$ 5"], "Total": ["R$ 14"]}))
    assert table is not None
    assert table.rows == ("SP", "RJ")


@pytest.mark.parametrize(
    "prompt",
    [
        "Analise.",
        "Estado | Receita",
        prompt_of("Estado", ["Margem"], {"SP": ["R$ 9"]}),
        prompt_of("Estado", ["Receita", "Receita"], {"SP": ["R$ 9", "R$ 8"]}),
        "Estado | Receita\nSP | R$ 9\nSP | R$ 8",
        "Estado | Receita\nSP | R$ 9 | R$ 8",
        prompt_of("Estado", ["Receita"], {"[clique](//x.io)": ["R$ 9"]}),
        prompt_of("Estado", ["Receita"], {"www.x.io": ["R$ 9"]}),
        prompt_of("Estado", ["Receita"], {"{oferta}": ["R$ 9"]}),
        prompt_of("Estado", ["Receita"], {f"linha {number}": ["R$ 9"] for number in range(21)}),
    ],
)
def test_a_table_that_no_finding_can_be_made_of_is_none(prompt: str) -> None:
    assert read_table(prompt) is None
