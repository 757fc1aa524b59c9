import pytest

from tasks.commerce.sentiment import TASK
from tests.tasks.commerce.scoring import score

REFERENCE = {"polarity": "negative", "score": 1}


def reward(completion: str) -> float:
    return score("sentiment", completion, REFERENCE).reward


def test_nearer_answers_earn_more() -> None:
    rewards = [
        reward(f'{{"polarity": "{polarity}", "score": {stars}}}')
        for polarity, stars in (("negative", 1), ("negative", 2), ("neutral", 3), ("positive", 5))
    ]
    assert rewards == sorted(rewards, reverse=True)
    assert len(set(rewards)) == 4


@pytest.mark.parametrize("stars", ["0.2", "true", '"1"', "6", "null", "1.0"])
def test_what_is_no_star_earns_no_star(stars: str) -> None:
    scored = score("sentiment", f'{{"polarity": "negative", "score": {stars}}}', REFERENCE)
    assert scored.components["score"] == 0.0
    assert scored.components["types"] == 0.5


def test_fields_that_nobody_asked_for_cost() -> None:
    assert reward('{"polarity": "negative", "score": 1, "nota": 1}') < reward('{"polarity": "negative", "score": 1}')


def test_the_metric_is_accuracy_and_macro_f1() -> None:
    answers = [("negative", "negative"), ("negative", "positive"), ("positive", "positive"), ("neutral", None)]
    rollouts = [
        score("sentiment", f'{{"polarity": "{found}"}}' if found else "nada", {"polarity": wanted, "score": 3})
        for wanted, found in answers
    ]
    metric = TASK.metric(rollouts, None)
    assert metric["accuracy"] == 0.5
    assert metric["macro_f1"] == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)


@pytest.mark.parametrize(("reference", "answer"), [
    ({"polarity": None, "score": 2}, '{"polarity":"negative","score":2}'),
    ({"polarity": "neutral", "score": None}, '{"polarity":"neutral","score":3}'),
])  # fmt: skip
def test_an_answer_follows_from_what_is_known(reference: dict[str, object], answer: str) -> None:
    assert TASK.answer(reference) == answer
    assert score("sentiment", answer, reference).reward == pytest.approx(1.0)
