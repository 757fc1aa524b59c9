"""The reward of reasons: bounded, not raised by a false or repeated one, little for one reason for all."""

import random
from collections.abc import Callable, Sequence
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.churn.profile import FIELDS, CustomerProfile
from tasks.commerce.churn.scorer import REWARD, ReasonFault, check, score
from tasks.commerce.example import Example
from tests.tasks.commerce.churn.profiles import all_reasons, answer_of, examples, profile_in, prompt_of, prompts, reason

PROFILES = 2_000
RISKS = st.sampled_from([0.1, 0.3, 0.4, 0.6, 0.9])


def reward(completion: str, prompt: str, churned: bool | None = True) -> float:
    return REWARD.total(score(completion, prompt, {"churn": churned}, None).components)


@given(st.data(), prompts(), RISKS)
def test_neither_a_false_nor_a_repeated_reason_raises_it(data: st.DataObject, prompt: str, risk: float) -> None:
    profile = profile_in(prompt)
    every = all_reasons(prompt)
    some = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=2))
    added = data.draw(
        st.sampled_from(every) | st.builds(reason, st.sampled_from([*FIELDS, "Estado"]), st.text(), st.text())
    )
    longer = [*some, added]
    fault = check(profile, longer)[-1][1]
    if fault is ReasonFault.FALSE:
        place = data.draw(st.integers(0, len(some)))
        longer = [*some[:place], added, *some[place:]]
    if fault is not None:
        assert reward(answer_of(*longer, risk=risk), prompt) <= reward(answer_of(*some, risk=risk), prompt) + 1e-9


def test_a_unknown_to_engine_the_answer_counts_only_where_few_speak_for_it() -> None:
    regular = prompt_of(silent_days=200)
    silent, spent = reason("Dias desde a última compra", "200", "sai"), reason("Total gasto", "R$ 640", "fica")
    conceded = answer_of(silent, spent, risk=0.8)
    assert reward(conceded, regular) > reward(answer_of(silent, risk=0.8), regular)
    assert score(answer_of(spent, risk=0.8), regular, None, None).components["reasons"] == 0
    many = prompt_of(silent_days=200, orders=1, spent=640, last_rating=1, mean_rating=1)
    assert reward(conceded, many) == reward(answer_of(silent, risk=0.8), many)
    content = prompt_of()
    assert 0.5 < reward(answer_of(spent, risk=0.8), content) <= 0.6


@cache
def many() -> Sequence[tuple[Example, CustomerProfile]]:
    found = [each for seed in ("bounds:1", "bounds:2", "bounds:3") for each in examples(700, seed)][:PROFILES]
    assert len(found) == PROFILES
    return [(each, profile_in(each.prompt)) for each in found]


def mean_of(decide: Callable[[CustomerProfile], float], field: str, way: str | None) -> float:
    """Return what one line for all earns on average, with its own direction where none is given."""
    total = 0.0
    for example, profile in many():
        said = reason(field, profile.texts[field], way or profile.bands[field].aponta or "sai")
        total += reward(answer_of(said, risk=decide(profile)), example.prompt, example.reference["churn"])
    return total / PROFILES


def by_silence(profile: CustomerProfile) -> float:
    days = int(profile.texts["Dias desde a última compra"])
    return 0.2 if days <= 30 else 0.3 if days <= 90 else 0.6 if days <= 150 else 0.8


def test_one_reason_for_all_customers_earns_little() -> None:
    """At most .6, EVIDENCE's limit: whatever the line, and even with the risk that the days of silence suggest."""
    earned = {
        (field, way, name): mean_of(decide, field, way)
        for field in FIELDS
        for way in ("sai", "fica", None)
        for name, decide in (("leaves", lambda _: 0.6), ("by silence", by_silence))
    }
    best = max(earned, key=lambda key: earned[key])
    print(f"one reason for all: at most {earned[best]:.3f}, {best}")
    assert earned[best] <= 0.6


def test_a_decision_that_reads_nothing_earns_little_with_the_best_reasons() -> None:
    coin = random.Random(4)
    for risks in ((0.6,), (0.5,), (0.4,), (0.4, 0.6)):
        total = 0.0
        for example, profile in many():
            risk = coin.choice(risks)
            names = profile.explaining("sai" if risk > 0.5 else "fica")
            best = [reason(name, profile.texts[name], profile.bands[name].aponta or "") for name in names]
            total += reward(answer_of(*best, risk=risk), example.prompt, example.reference["churn"])
        assert total / PROFILES <= 0.65


def test_a_decision_without_a_true_reason_earns_half() -> None:
    for example, profile in many()[:300]:
        churned = example.reference["churn"]
        false = [each for each in all_reasons(example.prompt) if check(profile, [each])[0][1] is ReasonFault.FALSE][:3]
        assert reward(answer_of(*false, risk=0.8 if churned else 0.2), example.prompt, churned) == 0.5
        assert reward(answer_of(risk=0.8 if churned else 0.2), example.prompt, churned) == 0
