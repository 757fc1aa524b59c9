"""Rendering: only what holds is said, in words of the data and the table."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.insights.prompts import cells_of
from tasks.commerce.insights.render import render, sentences
from tasks.commerce.insights.scorer import CitedFinding
from tasks.commerce.insights.table import actions, forms_of, read_table
from tasks.commerce.insights.truth import is_true, read_cells
from tests.cases import cases_of
from tests.tasks.commerce.insights.tables import all_findings, answer_of, prompt_of, prompts

CASES = cases_of(__file__)
STATES = prompt_of("Estado", ["Receita", "Pedidos"], {"SP": ["R$ 9.000", "90"], "RO": ["R$ 600", "1"]})


@given(st.data(), prompts())
def test_a_line_is_said_for_each_true_finding_and_no_other(data: st.DataObject, prompt: str) -> None:
    known = read_cells(cells_of(prompt))
    assert known is not None
    findings = data.draw(st.lists(st.sampled_from(all_findings(prompt)), min_size=1, max_size=4))
    true: dict[tuple[str, str], dict[str, str]] = {}
    for each in findings:
        if is_true(each, known):
            true.setdefault((each["linha"], each["coluna"]), each)
    found = render(answer_of(*findings), prompt)
    lines = [line for line in (found.text or "").splitlines() if line.startswith("- ")]
    assert len(lines) == len(true)
    assert found.checked == (len(true) == len(findings))
    for line, each in zip(lines, true.values(), strict=True):
        assert each["valor"] in line
        assert not re.search(r"[{}]|  |\.\.| \.| ,", line), line


def test_an_action_that_does_not_fit_is_left_out_and_its_claim_is_said() -> None:
    found = render(
        answer_of({"coluna": "Receita", "fato": "maior", "valor": "R$ 9.000", "linha": "SP", "acao": "atraso_rota"}),
        STATES,
    )
    assert found.text is not None
    assert "R$ 9.000" in found.text
    assert "transportadora" not in found.text
    assert found.reason is not None and found.reason.startswith("achado 1: a ação não combina")


def test_few_orders_are_named_beside_a_mean_and_are_no_chance_beside_a_sum() -> None:
    prompt = prompt_of(
        "Estado", ["Receita", "Nota média", "Pedidos"], {"SP": ["R$ 90", "4,0", "90"], "RO": ["R$ 6", "5,0", "1"]}
    )
    revenue = {"coluna": "Receita", "fato": "menor", "valor": "R$ 6", "linha": "RO", "acao": ""}
    rating = {"coluna": "Nota média", "fato": "melhor", "valor": "5,0", "linha": "RO", "acao": ""}
    assert "apenas 1 pedido:" in (render(answer_of(rating), prompt).text or "")
    assert "apenas" not in (render(answer_of(revenue), prompt).text or "apenas")


def test_a_sum_of_mondays_is_not_each_mondays() -> None:
    days = {"segunda-feira": ["R$ 90", "R$ 9"], "domingo": ["R$ 6", "R$ 8"]}
    table = read_table(prompt_of("Dia da compra", ["Receita", "Ticket médio"], days))
    assert table is not None
    revenue = sentences(table, CitedFinding("Receita", "maior", "R$ 90", "segunda-feira", ""))
    ticket = sentences(table, CitedFinding("Ticket médio", "maior", "R$ 9", "segunda-feira", ""))
    assert any(each.startswith("No total das segundas-feiras") for each in revenue)
    assert not any("às segundas" in each.lower() for each in revenue)
    assert any(each.startswith("Nos pedidos feitos às segundas-feiras") for each in ticket)


@pytest.mark.parametrize(("kind", "column", "cells", "fact", "sentence"), CASES["sentences"])
def test_a_sentence_reads_as_an_editor_corrected_it(
    kind: str, column: str, cells: dict[str, str], fact: str, sentence: str
) -> None:
    table = read_table(prompt_of(kind, [column], {row: [cell] for row, cell in cells.items()}))
    row, other = cells
    assert table is not None
    assert sentence in sentences(table, CitedFinding(column, fact, cells[row], row, "", other))


@pytest.mark.parametrize(("action", "kind", "row", "sentence"), CASES["an_action_reads_as_an_editor_corrected_it"])
def test_an_action_reads_as_an_editor_corrected_it(action: str, kind: str, row: str, sentence: str) -> None:
    assert actions()[action].texto.format(**forms_of(kind, row)) == sentence
