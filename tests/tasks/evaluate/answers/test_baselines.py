import json
from statistics import fmean

import pytest

from schemas.documents import Rollout
from schemas.tables.prompts import PromptRow
from tasks.commerce.registry import score_rollout
from tasks.evaluate.answers.baselines import BaselineAnswers, baselines
from tests.tasks.curate.prompt_rows import prompt_row

STARS = (5, 5, 5, 4, 1, 5, 2, 5, 5, 1, 3, 5) * 3


def reviews(first: int) -> list[PromptRow]:
    def row(number: int, stars: int) -> PromptRow:
        polarity = "positive" if stars > 3 else "neutral" if stars == 3 else "negative"
        prompt = f"Classifique.\nNota: {stars}\nAvaliação: texto {number}"
        return prompt_row("sentiment", prompt, {"polarity": polarity, "score": stars})

    return [row(first + number, stars) for number, stars in enumerate(STARS)]


def answered(rows: list[PromptRow]) -> list[Rollout]:
    return [row.answered("não sei", sample=0, decoding="temperature 0.1") for row in rows]


def reward(rollout: Rollout) -> float:
    return score_rollout(rollout, None).reward


@pytest.fixture(scope="module")
def found() -> dict[str, BaselineAnswers]:
    return {each.name: each for each in baselines(reviews(0), answered(reviews(500)), reward, 7)}


def test_the_constant_is_the_training_answer_that_earns_most(found: dict[str, BaselineAnswers]) -> None:
    constant = found["constant"]
    texts = {rollout.completion for rollout in constant.rollouts}
    assert texts == {constant.says["sentiment"]} == {'{"polarity":"positive","score":5}'}
    # It stands in for the model: the same prompts, samples and decoding.
    assert [each.prompt_id for each in constant.rollouts] == [row.prompt_id for row in reviews(500)]
    assert {(each.model_extra or {})["decoding"] for each in constant.rollouts} == {"temperature 0.1"}
    assert fmean(map(reward, constant.rollouts)) > 0.5


def test_a_rule_on_a_line_that_tells_the_answer_is_found(found: dict[str, BaselineAnswers]) -> None:
    assert found["rule"].says == {"sentiment": "by Nota"}
    assert fmean(map(reward, found["rule"].rollouts)) == pytest.approx(1.0)


def test_the_majority_takes_each_field_by_itself() -> None:
    references = [{"polarity": "negative", "score": 1}] * 3 + [{"polarity": "negative", "score": 2}] * 2
    references += [{"polarity": "positive", "score": 5}] * 4
    rows = [prompt_row("sentiment", f"Avaliação: {n}", known) for n, known in enumerate(references)]

    found = {each.name: each for each in baselines(rows, answered(rows), lambda rollout: 0.0, 1)}

    assert json.loads(found["majority"].says["sentiment"]) == {"polarity": "negative", "score": 5}


def test_the_echo_says_the_prompt_and_equal_baselines_are_one(found: dict[str, BaselineAnswers]) -> None:
    assert [each.completion for each in found["echo"].rollouts] == [row.prompt for row in reviews(500)]
    # Each field's most frequent value is the constant's here.
    assert "majority" not in found
