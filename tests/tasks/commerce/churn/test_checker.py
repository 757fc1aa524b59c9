"""The checker of reasons: it holds true what independent code holds true, and nothing that it reads raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.churn.profile import CustomerProfile, phrases, profile_of, read_profile
from tasks.commerce.churn.scorer import ReasonFault, check
from tasks.commerce.churn.truth import is_true
from tests.cases import cases_of
from tests.tasks.commerce.churn.profiles import all_reasons, examples, lines_of, prompt_of, prompts, reason

CASES = cases_of(__file__)
FIELDS = [field.nome for field in phrases().campos]
FURIOUS = prompt_of(orders=1, spent=45, silent_days=212, last_rating=1, mean_rating=1, late=1)


def profile_of_prompt(prompt: str) -> CustomerProfile:
    profile = read_profile(prompt)
    assert profile is not None
    return profile


@given(prompts() | st.sampled_from([each.prompt for each in examples()]))
def test_a_reason_holds_where_the_ground_truth_says_so(prompt: str) -> None:
    profile = profile_of_prompt(prompt)
    assert profile.texts.keys() == {*FIELDS}
    for each in all_reasons(prompt, FIELDS):
        ((_, fault),) = check(profile, [each])
        assert (fault is None) == is_true(each, profile.texts), each


def test_of_two_values_of_one_name_neither_is_true() -> None:
    profile = profile_of_prompt("Fica?\nPedidos: 3\nPedidos: 9\nEntregas com atraso: 0")
    assert set(profile.texts) == {"Entregas com atraso"}
    assert set(profile_of_prompt("Fica?\nPedidos: 3\nPedidos: 3").texts) == {"Pedidos"}


@pytest.mark.parametrize(("known", "field"), CASES["a_line_that_cannot_be_or_is_no_grievance_points_nowhere"])
def test_a_line_that_cannot_be_or_is_no_grievance_points_nowhere(known: dict[str, int], field: str) -> None:
    usual = prompt_of()
    numbers = {"orders": "Pedidos", "late": "Entregas com atraso", "undelivered": "Pedidos não entregues"}
    numbers |= {"silent_days": "Dias desde a última compra"}
    lines = lines_of(usual) | {numbers[name]: str(value) for name, value in known.items() if name in numbers}
    lines |= {"Total gasto": "R$ 0"} if "spent" in known else {}
    assert profile_of(lines).bands[field].aponta is None
    assert not any(is_true(reason(field, lines[field], way), lines) for way in ("sai", "fica"))


@pytest.mark.parametrize("given", [{}, {"late": 0}, {"undelivered": 0}])
def test_a_count_that_nobody_gave_is_no_fact(given: dict[str, int]) -> None:
    profile = profile_of_prompt(prompt_of(**{"late": None, "undelivered": None} | given))
    counted = {"Entregas com atraso": "late", "Pedidos não entregues": "undelivered"}
    assert all(bool(profile.bands[name].aponta) == (key in given) for name, key in counted.items())


def test_a_field_counts_once_and_so_do_two_that_say_the_same() -> None:
    once, mean = reason("Última nota", "1", "sai"), reason("Nota média", "1,0", "sai")
    faults = [fault for _, fault in check(profile_of_prompt(FURIOUS), [once, once, mean])]
    assert faults == [None, ReasonFault.REPEATED, ReasonFault.REPEATED]
    mixed = profile_of_prompt(prompt_of(orders=6, last_rating=1, mean_rating=4.2))
    assert [fault for _, fault in check(mixed, [once, reason("Nota média", "4,2", "fica")])] == [None, None]


@pytest.mark.parametrize("prompt", CASES["without_a_profile"])
def test_a_prompt_without_a_profile_has_none(prompt: str) -> None:
    assert read_profile(prompt) is None


def test_counts_and_ratings_that_contradict_each_other_say_nothing() -> None:
    counts = profile_of_prompt(prompt_of(orders=3, late=3, undelivered=3))
    assert not {"Pedidos", "Entregas com atraso", "Pedidos não entregues"} & {
        name for names in counts.pointing.values() for name in names
    }
    odd = profile_of({"Entregas com atraso": "R$ 3", "Pedidos": "2,5", "Dias desde a última compra": "R$ 300"})
    assert not any(odd.pointing.values())


@pytest.mark.parametrize(("orders", "last", "mean", "can_be"), CASES["impossible_ratings"])
def test_ratings_that_so_many_orders_cannot_have_say_nothing(
    orders: int, last: int, mean: float, *, can_be: bool
) -> None:
    """Of two orders of which the last got 1 star, the mean is 3 at most; printed means are rounded down."""
    prompt = prompt_of(orders=orders, last_rating=last, mean_rating=mean)
    said = {name for names in profile_of_prompt(prompt).pointing.values() for name in names}
    assert bool({"Última nota", "Nota média"} & said) is can_be
    assert any(is_true(reason("Última nota", str(last), way), lines_of(prompt)) for way in ("sai", "fica")) is can_be
