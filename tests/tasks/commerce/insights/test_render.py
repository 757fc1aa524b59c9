"""Rendering: only what holds is said, in words of the data and the table."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.insights.scorer import CitedFinding, render, sentences
from tasks.commerce.insights.table import ACTIONS, forms_of
from tasks.commerce.insights.truth import is_true
from tests.cases import cases_of
from tests.tasks.commerce.insights.tables import answer_of, claims_on, finding, known_of, prompt_of, prompts, table_of

CASES = cases_of(__file__)


@given(st.data(), prompts())
def test_a_line_is_said_for_each_true_finding_and_no_other(data: st.DataObject, prompt: str) -> None:
    known = known_of(prompt)
    findings = data.draw(st.lists(st.sampled_from(claims_on(prompt)), min_size=1, max_size=4))
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


@pytest.mark.parametrize(("table", "findings", "there", "absent"), CASES["texts"])
def test_a_text_tells_its_sample_its_median_and_its_column_by_name_and_no_unfit_action(
    table: list[Any], findings: list[dict[str, str]], there: list[str], absent: list[str]
) -> None:
    """Few orders are named beside a mean; beside a sum they are no chance."""
    said = render(answer_of(*findings), prompt_of(*table)).text
    assert said is not None
    assert [each in said for each in (*there, *absent)] == [True] * len(there) + [False] * len(absent)


def test_an_action_that_does_not_fit_is_a_reason() -> None:
    prompt = prompt_of("Estado", ["Receita", "Pedidos"], {"SP": ["R$ 9.000", "90"], "RO": ["R$ 600", "1"]})
    found = render(answer_of(finding("maior", "R$ 9.000", action="atraso_rota")), prompt)
    assert not found.checked
    assert (found.reason or "").startswith("achado 1: a ação não combina")


def test_a_sum_of_mondays_is_not_each_mondays() -> None:
    days = {"segunda-feira": ["R$ 90", "R$ 9"], "domingo": ["R$ 6", "R$ 8"]}
    table = table_of(prompt_of("Dia da compra", ["Receita", "Ticket médio"], days))
    revenue = sentences(table, CitedFinding("Receita", "maior", "R$ 90", "segunda-feira", ""))
    ticket = sentences(table, CitedFinding("Ticket médio", "maior", "R$ 9", "segunda-feira", ""))
    assert any(each.startswith("No total das segundas-feiras") for each in revenue)
    assert not any("às segundas" in each.lower() for each in revenue)
    assert any(each.startswith("Nos pedidos feitos às segundas-feiras") for each in ticket)


@pytest.mark.parametrize(("kind", "column", "cells", "fact", "sentence"), CASES["sentences"])
def test_a_sentence_reads_as_an_editor_corrected_it(
    kind: str, column: str, cells: dict[str, str], fact: str, sentence: str
) -> None:
    table = table_of(prompt_of(kind, [column], {row: [cell] for row, cell in cells.items()}))
    row, other = cells
    assert sentence in sentences(table, CitedFinding(column, fact, cells[row], row, "", other))


@pytest.mark.parametrize(("action", "kind", "row", "sentence"), CASES["an_action_reads_as_an_editor_corrected_it"])
def test_an_action_reads_as_an_editor_corrected_it(action: str, kind: str, row: str, sentence: str) -> None:
    assert ACTIONS[action].texto.format(**forms_of(kind, row)) == sentence
