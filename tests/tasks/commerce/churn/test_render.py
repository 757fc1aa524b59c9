"""Rendering of reasons: only what holds is said, in words of the data and the profile, in the right number."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.churn.profile import FIELDS, profile_of
from tasks.commerce.churn.scorer import check, render, said_with
from tests.cases import cases_of
from tests.tasks.commerce.churn.profiles import all_reasons, answer_of, profile_in, prompt_of, prompts, reason

CASES = cases_of(__file__)
UNSUPPORTED = "nenhum motivo aponta para a decisão"


@given(st.data(), prompts(), st.sampled_from([0.1, 0.4, 0.5, 0.6, 0.9]))
def test_it_says_each_true_reason_and_no_other(data: st.DataObject, prompt: str, risk: float) -> None:
    profile = profile_in(prompt)
    reasons = data.draw(st.lists(st.sampled_from(all_reasons(prompt)), min_size=1, max_size=3))
    found = render(answer_of(*reasons, risk=risk), prompt)
    faults = [fault for _, fault in check(profile, reasons)]
    assert (found.text is None) == (None not in faults)
    unsupported = UNSUPPORTED in (found.reason or "")
    assert found.checked == (set(faults) == {None} and not unsupported)
    if found.text:
        said = [each for each, fault in zip(reasons, faults, strict=True) if fault is None]
        clauses = {
            each["campo"]: {said_with(text, each["valor"]) for text in profile.bands[each["campo"]].frases}
            for each in said
        }
        assert all(any(clause in found.text for clause in some) for some in clauses.values())
        rest = found.text
        for clause in sorted((clause for some in clauses.values() for clause in some), key=len, reverse=True):
            rest = rest.replace(clause, "")
        assert not re.search(r"\d", rest), "a figure of no true reason"
        assert not re.search(r"[{}|]|  |\.\.| \.| ,|: \.", found.text), found.text


@pytest.mark.parametrize(("value", "wrong"), [("1", r"\b1 \w+s\b"), ("2", r"\b2 (?!\w+s\b)\w")])
def test_one_is_singular_and_two_are_plural(value: str, wrong: str) -> None:
    counts = FIELDS.keys() - {"Última nota", "Nota média", "Total gasto"}
    said = [said_with(text, value) for name in counts for text in profile_of({name: value}).bands[name].frases or ()]
    assert len(said) >= 6
    assert not [text for text in said if re.search(wrong, text)]


def test_an_answer_against_all_lines_says_so() -> None:
    prompt = prompt_of()
    against = reason("Total gasto", "R$ 640", "fica")
    found = render(answer_of(against, risk=0.6), prompt)
    assert found.checked
    assert found.text is not None
    assert "embora" in found.text
    assert render(answer_of(against, risk=0.99), prompt).text == found.text.replace("tende a não", "pode não")
    silent = render(answer_of(against, risk=0.6), prompt_of(silent_days=200))
    assert not silent.checked
    assert silent.reason == UNSUPPORTED


@pytest.mark.parametrize(("field", "value", "clause"), CASES["a_clause_claims_no_more_than_its_line"])
def test_a_clause_claims_no_more_than_its_line(field: str, value: str, clause: str) -> None:
    """The newest rating may be of an older order, and an order that has not come may be under way."""
    profile = profile_in(f"Fica?\n{field}: {value}")
    assert clause in [said_with(text, value) for text in profile.bands[field].frases]
