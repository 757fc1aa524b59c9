"""Tables: whose cells can be read and compared, and which cannot."""

import pytest

from tasks.commerce.insights.table import forms_of, read_table
from tests.cases import cases_of
from tests.tasks.commerce.insights.tables import prompt_of, table_of

CASES = cases_of(__file__)


@pytest.mark.parametrize(("kind", "name"), CASES["sums"])
def test_a_table_with_a_row_named_as_a_sum_or_a_mean_is_not_read(kind: str, name: str) -> None:
    rows = {"abril/2018": ["R$ 9"], "maio/2018": ["R$ 5"]} if kind == "Mês" else {"SP": ["R$ 9"], "RJ": ["R$ 5"]}
    assert read_table(prompt_of(kind, ["Receita"], rows)) is not None
    assert read_table(prompt_of(kind, ["Receita"], {**rows, name: ["R$ 14"]})) is None


def test_nor_is_one_with_a_sum_by_another_name() -> None:
    rows = {"SP": ["R$ 300", "90"], "RJ": ["R$ 200", "80"], "BA": ["R$ 100", "7"]}
    assert read_table(prompt_of("Loja", ["Receita", "Pedidos"], {**rows, "Equipe toda": ["R$ 601", "177"]})) is None
    assert read_table(prompt_of("Loja", ["Receita", "Pedidos"], {**rows, "MG": ["R$ 601", "178"]})) is not None


def test_a_row_without_a_figure_is_no_sum_of_zeros() -> None:
    rows = {name: ["R$ 0"] for name in ("SP", "RJ", "MG")} | {"BA": ["R$ -"]}
    assert ("BA", "Receita") not in table_of(prompt_of("Estado", ["Receita"], rows)).facts


@pytest.mark.parametrize("name", CASES["rests"])
def test_a_row_of_rests_is_compared_with_and_has_no_finding(name: str) -> None:
    table = table_of(prompt_of("Estado", ["Receita"], {"SP": ["R$ 9"], "RJ": ["R$ 5"], name: ["R$ 14"]}))
    assert table.rows == ("SP", "RJ")
    assert not any(name in cell for cell in (*table.facts, *table.salience))
    assert "maior" not in table.facts["SP", "Receita"] and "menor" in table.facts["RJ", "Receita"]


@pytest.mark.parametrize("name", CASES["begun_as_sums"])
def test_a_name_that_begins_as_a_sum_is_a_name(name: str) -> None:
    assert name in table_of(prompt_of("Marca", ["Receita"], {name: ["R$ 9"], "Nova": ["R$ 5"]})).rows


@pytest.mark.parametrize(("column", "cells"), CASES["units"])
def test_a_cell_in_another_unit_than_its_columns_is_not_read(column: str, cells: tuple[str, str]) -> None:
    assert read_table(prompt_of("Estado", [column], {"SP": [cells[0]], "RJ": [cells[1]]})) is None


def test_a_cell_of_another_notation_than_the_others_is_not_read() -> None:
    rows = {"SP": ["R$ 120.500"], "RJ": ["R$ 98,50"], "BA": ["R$ 99,50"]}
    table = table_of(prompt_of("Estado", ["Ticket médio"], rows))
    assert set(table.figures) == {("RJ", "Ticket médio"), ("BA", "Ticket médio")}
    assert set(table.facts.values()) == {("valor",)}


def test_months_and_periods_are_those_with_a_year() -> None:
    names = ("janeiro", "fevereiro/18", "março/2018", "abril/2018")
    table = table_of(prompt_of("Mês", ["Receita"], {name: [f"R$ {place}00"] for place, name in enumerate(names, 1)}))
    assert table.before == {"abril/2018": "março/2018"}
    assert forms_of("mês", "janeiro")["de"] == "da linha “janeiro”"
    assert table.period == ("jan/2018", "mai/2018")
    for period in ("zzz/0000 a aaa/9999", "dez/2018 a jan/2018", "jan/2016 a mar/2018", "jan/2018 a dez/2099"):
        assert table_of(f"Período: {period}\nMês | Receita\nmaio/2018 | R$ 9\njunho/2018 | R$ 5").period is None


@pytest.mark.parametrize(("head", "cells"), CASES["groups"])
def test_a_table_whose_names_are_parts_of_others_is_none(head: str, cells: list[str]) -> None:
    """Of SP in Campinas nothing is true of SP, and of its first quarter nothing of its year."""
    kind, _, further = head.partition(" | ")
    rows = {("SP", "RJ", "BA")[place]: [cell, f"R$ {place + 2}00"] for place, cell in enumerate(cells)}
    assert read_table(prompt_of(kind, [further, "Receita"], rows)) is None


@pytest.mark.parametrize("prompt", CASES["told_more"])
def test_a_column_that_only_tells_more_of_its_row_hides_no_group(prompt: str) -> None:
    assert read_table(prompt) is not None


@pytest.mark.parametrize("prompt", CASES["none"])
def test_a_table_that_no_finding_can_be_made_of_or_whose_sentences_mislead_is_none(prompt: str) -> None:
    assert read_table(prompt) is None
