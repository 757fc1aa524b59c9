"""The checker: what it holds true is what independent code holds true, and nothing that it reads raises."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.documents import Rollout
from tasks.commerce.insights.prompts import cells_of
from tasks.commerce.insights.scorer import STRONGEST, Checked, CitedFinding, Fault, check, read_answer, render, score
from tasks.commerce.insights.scorer import is_true as holds
from tasks.commerce.insights.table import read_table
from tasks.commerce.insights.task import answer, findings_grammar
from tasks.commerce.insights.truth import is_true, metric, read_cells
from tests.cases import cases_of
from tests.tasks.commerce.insights.tables import (
    answer_of,
    broken_prompts,
    claims_on,
    finding,
    known_of,
    prompt_of,
    prompts,
    table_of,
)

CASES = cases_of(__file__)
STATES = prompt_of(
    "Estado",
    ["Receita", "Atrasos", "Nota média", "Pedidos"],
    {
        "Mato Grosso": ["R$ 1.000", "12,0%", "3,2", "40"],
        "Mato Grosso do Sul": ["R$ 2.500", "3,0%", "4,6", "90"],
        "SP": ["R$ 9.000", "3,0%", "4,1", "300"],
        "RO": ["R$ 600", "0,0%", "5,0", "6"],
    },
)


def checked(*findings: dict[str, str], prompt: str = STATES) -> list[Checked]:
    read = read_answer(answer_of(*findings))
    assert read is not None
    return check(table_of(prompt), read)


@given(prompts())
def test_a_claim_holds_where_the_ground_truth_says_so(prompt: str) -> None:
    table, known = table_of(prompt), known_of(prompt)
    for each in claims_on(prompt):
        (found,) = check(table, [each])
        assert (found.said is not None) == is_true(each, known), each


@given(st.data(), broken_prompts())
@settings(max_examples=200)
def test_no_table_raises_and_what_holds_of_it_is_true(data: st.DataObject, prompt: str) -> None:
    cells = [cell for cell in cells_of(prompt) if cell.count(" | ") == 3]
    known, table = read_cells(cells), read_table(prompt)
    assert known is not None
    assert answer({"facts": cells_of(prompt)})
    if table is None:
        return
    assert all(0 <= each < 1 for each in table.salience.values())
    assert "()" not in findings_grammar(table)
    findings = [
        CitedFinding(title, fact, text, row, "", other)
        for (row, title), text in table.texts.items()
        for fact in STRONGEST
        for other in (table.rows if fact == "razao" else [""])
    ]
    for each in findings:
        assert not holds(table, each) or is_true(each._asdict(), known), each
    drawn = data.draw(st.lists(st.sampled_from(findings), min_size=1, max_size=4))
    # Without another row a ratio has an empty one, as a model may write it.
    as_said = [{key: text for key, text in each._asdict().items() if text or key != "outra"} for each in drawn]
    written = answer_of({**as_said[0], "fato": "razao", "outra": ""}, *as_said)
    rollout = Rollout(prompt_id="-", task="insights", prompt=prompt, completion=written, reference={"facts": cells})
    assert all(0 <= share <= 1 for share in metric([rollout], None).values())
    assert all(0 <= value <= 1 for value in score(written, prompt, None, None).components.values())
    said = render(written, prompt).text or ""
    assert not re.search(r"inf |[{}]|  | de[:.]|\d{13}", said), said


@pytest.mark.parametrize(("given", "fault"), CASES["faults"])
def test_a_finding_has_its_fault(given: dict[str, str], fault: str | None) -> None:
    (found,) = checked(given)
    assert found.fault is (Fault[fault] if fault else None)


@pytest.mark.parametrize(("kind", "columns", "rows", "given", "fault"), CASES["on_tables"])
def test_a_finding_has_its_fault_on_a_table(
    kind: str, columns: list[str], rows: dict[str, list[str]], given: dict[str, str], fault: str | None
) -> None:
    """Nothing is compared beside a gap; an action has its premise, and promotes neither a bad row nor a restricted one.

    A ratio holds however its figures were rounded; a shop's own column is as the one that it means.
    """
    prompt = prompt_of(kind, columns, rows)
    (found,) = checked(given, prompt=prompt)
    assert found.fault is (Fault[fault] if fault else None)
    assert found.said is None or is_true(given, known_of(prompt))


def test_a_cell_and_an_action_count_once_and_a_row_bears_no_contradiction() -> None:
    found = checked(
        finding("maior", "R$ 9.000", action="regiao_manter"),
        finding("acima", "R$ 9.000"),
        finding("maior", "300", column="Pedidos", action="regiao_dependencia"),
    )
    assert [each.fault for each in found] == [None, Fault.REPEATED, Fault.ACTION]
    rows = (("3,2", "Mato Grosso"), ("4,1", "SP"))
    found = checked(*(finding("abaixo", value, row, "Nota média", "nota_comentarios") for value, row in rows))
    assert [each.fault for each in found] == [None, Fault.ACTION]
