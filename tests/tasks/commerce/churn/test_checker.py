"""The checker of reasons: it holds true what independent code holds true, and nothing that it reads raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.churn.profile import FIELDS, OTHER, profile_of, read_profile
from tasks.commerce.churn.scorer import ReasonFault, check
from tasks.commerce.churn.truth import is_true
from tests.cases import cases_of
from tests.tasks.commerce.churn.profiles import FURIOUS, all_reasons, examples, profile_in, prompt_of, prompts, reason

CASES = cases_of(__file__)


@given(prompts() | st.sampled_from([each.prompt for each in examples()]))
def test_a_reason_holds_where_the_ground_truth_says_so(prompt: str) -> None:
    profile = profile_in(prompt)
    assert profile.texts.keys() == FIELDS.keys()
    for each in all_reasons(prompt):
        ((_, fault),) = check(profile, [each])
        assert (fault is None) == is_true(each, profile.texts), each


def test_of_two_values_of_one_name_neither_is_true() -> None:
    profile = profile_in("Fica?\nPedidos: 3\nPedidos: 9\nEntregas com atraso: 0")
    assert set(profile.texts) == {"Entregas com atraso"}
    assert set(profile_in("Fica?\nPedidos: 3\nPedidos: 3").texts) == {"Pedidos"}


@pytest.mark.parametrize(("lines", "field", "points"), CASES["lines"])
def test_a_line_that_cannot_be_is_unknown_or_is_no_grievance_points_nowhere(
    lines: dict[str, str], field: str, *, points: bool
) -> None:
    """Of two orders of which the last got 1 star, the mean is 3 at most; printed means are rounded down."""
    profile = profile_of(lines)
    assert bool(profile.bands[field].aponta) is points
    assert any(is_true(reason(field, lines[field], way), lines) for way in OTHER) is points


def test_a_field_counts_once_and_so_do_two_that_say_the_same() -> None:
    once, mean = reason("Última nota", "1", "sai"), reason("Nota média", "1,0", "sai")
    faults = [fault for _, fault in check(profile_in(FURIOUS), [once, once, mean])]
    assert faults == [None, ReasonFault.REPEATED, ReasonFault.REPEATED]
    mixed = profile_in(prompt_of(orders=6, last_rating=1, mean_rating=4.2))
    assert [fault for _, fault in check(mixed, [once, reason("Nota média", "4,2", "fica")])] == [None, None]


@pytest.mark.parametrize("prompt", CASES["without_a_profile"])
def test_a_prompt_without_a_profile_has_none(prompt: str) -> None:
    assert read_profile(prompt) is None
