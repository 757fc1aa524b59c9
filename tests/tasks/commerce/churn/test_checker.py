"""The checker of reasons: it holds true what independent code holds true, and nothing that it reads raises."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.churn.profile import CustomerProfile, phrases, profile_of, read_profile
from tasks.commerce.churn.scorer import ReasonFault, check, read_answer
from tasks.commerce.churn.truth import is_true
from tests.tasks.commerce.churn.profiles import all_reasons, answer_of, examples, lines_of, prompt_of, prompts, reason

CASES = json.loads(Path(__file__).with_name("checker_cases.json").read_text(encoding="utf-8"))
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


@pytest.mark.parametrize(
    ("value", "way", "words"),
    [("4,95", "fica", "nota máxima"), ("0,95", "sai", "nota mais baixa")],
)
def test_only_the_whole_scale_is_the_highest_or_lowest_rating(value: str, way: str, words: str) -> None:
    profile = profile_of_prompt(f"Fica?\nÚltima nota: {value}")
    assert not any(words in phrase for phrase in profile.bands["Última nota"].frases), way
    assert "Última nota: 1,1" in prompt_of(last_rating=1.05)
    assert "Última nota: 1\n" in prompt_of(last_rating=1)


def test_of_two_values_of_one_name_neither_is_true() -> None:
    profile = profile_of_prompt("Fica?\nPedidos: 3\nPedidos: 9\nEntregas com atraso: 0")
    assert set(profile.texts) == {"Entregas com atraso"}
    assert set(profile_of_prompt("Fica?\nPedidos: 3\nPedidos: 3").texts) == {"Pedidos"}


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (reason("Última nota", "1", "sai"), None),
        (reason("Última nota", "1", "fica"), ReasonFault.FALSE),
        (reason("Última nota", "2", "sai"), ReasonFault.FALSE),
        (reason("Entregas com atraso", "1", "sai"), None),
        (reason("Estado", "SP", "sai"), ReasonFault.FALSE),
        (reason("Dias desde a última compra", "212", "não volta"), ReasonFault.FALSE),
        (reason("Pedidos", "1", "sai") | {"nota": "compre já"}, ReasonFault.FORM),
        ({"campo": "Pedidos", "valor": 1, "aponta": "sai"}, ReasonFault.FORM),
        ({"campo": ["Pedidos"], "valor": "1", "aponta": "sai"}, ReasonFault.FORM),
        ("Pedidos", ReasonFault.FORM),
    ],
)
def test_a_reason_has_its_fault(given: object, fault: ReasonFault | None) -> None:
    ((_, found),) = check(profile_of_prompt(FURIOUS), [given])
    assert found is fault


@pytest.mark.parametrize(
    ("printed", "other"),
    [("Pedidos: 4", "Pedidos: 0"), ("Última nota: 5", "Última nota: 0"), ("Última nota: 5", "Última nota: 10")],
)
def test_no_orders_and_ratings_that_nobody_can_give_point_nowhere(printed: str, other: str) -> None:
    prompt = prompt_of()
    assert printed in prompt
    profile = profile_of_prompt(prompt.replace(printed, other))
    field = other.partition(":")[0]
    assert not profile.bands[field].aponta
    if field == "Pedidos":
        assert profile.pointing == {"sai": [], "fica": []}
    assert all(
        (fault is None) == is_true(each, profile.texts)
        for each in all_reasons(prompt.replace(printed, other), FIELDS)
        for _, fault in check(profile, [each])
    )


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


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "O cliente sai.",
        answer_of(),
        answer_of(*[reason("Pedidos", "1", "sai")] * 4),
        answer_of(reason("Pedidos", "1", "sai"), reasoning="ele sai"),
        answer_of(reason("Pedidos", "1", "sai"), risk=1.2),
        answer_of(reason("Pedidos", "1", "sai"), risk_score="0.8"),
        answer_of(reason("Pedidos", "1", "sai"), risk_score=True),
        answer_of(reason("Pedidos", "1", "sai"), churn="true"),
        answer_of(reason("Pedidos", "1", "sai"), churn=False),
        answer_of(reason("Pedidos", "1", "sai"), reasons={"campo": "Pedidos"}),
        answer_of(reason("Pedidos", "1", "sai")).replace('"churn":true', '"churn":false,"churn":true'),
        answer_of(reason("Pedidos", "1", "sai")).replace('"valor"', '"valor":"9","valor"'),
        answer_of(reason("Pedidos", "1", "sai")).replace("0.8", "NaN"),
        '{"reasons":' + "[" * 900 + "]" * 900 + "}",
        answer_of(reason("Pedidos", "9" * 100_000, "sai")),
        answer_of("\ud800"),
        answer_of(reason("Pedidos", "1", "sai")) + " Espero ter ajudado!",
    ],
)
def test_an_answer_of_another_form_is_not_read(answer: str) -> None:
    assert read_answer(answer) is None


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
