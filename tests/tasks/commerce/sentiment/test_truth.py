"""Ground truth of sentiment."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.documents import Rollout
from tasks.commerce.sentiment.truth import metric


def answered(completion: str, polarity: str | None = "positive", score: int | None = 5) -> dict[str, float]:
    return metric([rollout(completion, polarity, score)], None)


def rollout(completion: str, polarity: str | None, score: int | None) -> Rollout:
    reference: dict[str, Any] = {"polarity": polarity, "score": score}
    return Rollout(prompt_id="p", task="sentiment", prompt="?", completion=completion, reference=reference)


@given(st.lists(st.tuples(*[st.sampled_from(["negative", "neutral", "positive"])] * 2), min_size=1, max_size=30))
@settings(deadline=None, max_examples=30)
def test_the_metric_is_that_of_scikit_learn(answers: list[tuple[str, str]]) -> None:
    judge: Any = pytest.importorskip("sklearn.metrics")
    wanted, found = zip(*answers, strict=True)
    measured = metric([rollout(f'{{"polarity": "{answer}"}}', asked, 3) for asked, answer in answers], None)
    assert measured["macro_f1"] == pytest.approx(judge.f1_score(wanted, found, average="macro", zero_division=0))
    assert measured["accuracy"] == pytest.approx(judge.accuracy_score(wanted, found))


def test_the_nearness_of_stars_falls_with_each_star() -> None:
    found = [answered(f'{{"polarity":"positive","score":{stars}}}')["stars"] for stars in (5, 4, 3, 2, 1)]
    assert found == [1.0, 0.75, 0.5, 0.25, 0.0]


@pytest.mark.parametrize("stars", ["true", '"5"', "5.0", "6", "0", "null", "[5]"])
def test_a_value_that_is_no_whole_star_is_wrong(stars: str) -> None:
    assert answered(f'{{"polarity":"positive","score":{stars}}}', score=3 if stars == "true" else 5)["stars"] == 0.0


def test_an_answer_with_another_field_is_none() -> None:
    assert answered('{"polarity":"positive","score":5,"note":"idiota"}')["accuracy"] == 0.0


def test_a_polarity_among_words_or_unclosed_is_none() -> None:
    right = '{"polarity":"positive","score":5}'
    assert answered(right)["accuracy"] == 1.0
    assert answered(f"```json\n{right}\n```")["accuracy"] == 1.0
    for around in (f"```json\n{right}\n```\nPronto!", f"Claro! {right}", f"{right}\n{right}", right[:-1]):
        assert answered(around) == {"accuracy": 0.0, "macro_f1": 0.0, "stars": 0.0}


def test_unknown_references_are_not_measured() -> None:
    assert answered("{}", None, None) == {}
    assert answered('{"score":5}', None, 5) == {"stars": 1.0}
    assert answered('{"polarity":"positive"}', "positive", None) == {"accuracy": 1.0, "macro_f1": 1.0}
