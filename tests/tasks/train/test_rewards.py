"""The rewards as TRL sees them: one function a component, silent outside its task, each rollout scored once."""

import json
from typing import Any

import pytest

from schemas.documents import Rollout, ScoredRollout
from schemas.tasks import SpecName
from tasks.commerce import registry
from tasks.commerce.sandbox import Databases
from tasks.train.rewards import ComponentRewards

REFERENCES: dict[str, Any] = {
    "push": {"product": "brinquedos", "offer": "frete grátis"},
    "sentiment": {"polarity": "positive", "score": 5},
}
COMPLETIONS = {
    "push": "Brinquedos com frete grátis! Aproveite hoje no app.",
    "sentiment": '{"polarity":"positive","score":5}',
}


def _batch(*tasks: str) -> dict[str, Any]:
    return {
        "completions": [[{"role": "assistant", "content": COMPLETIONS[task]}] for task in tasks],
        "prompt_id": [f"prompt-{task}" for task in tasks],
        "task": list(tasks),
        "prompt_text": ["Escreva." for _ in tasks],
        "reference": [json.dumps(REFERENCES[task]) for task in tasks],
    }


@pytest.fixture
def rewards() -> ComponentRewards:
    return ComponentRewards(Databases(()), "grounded")


def test_a_function_abstains_outside_its_task(rewards: ComponentRewards) -> None:
    functions, _ = rewards.functions()
    batch = _batch("push", "sentiment", "push")
    for function in functions:
        values = function(**batch)
        spoke = [value is not None for value in values]
        task = function.__name__.split(".")[0]
        assert spoke == [each == task for each in batch["task"]]


def test_the_weighted_components_of_a_row_are_its_reward(rewards: ComponentRewards) -> None:
    functions, weights = rewards.functions()
    batch = _batch("push", "sentiment")
    values = [function(**batch) for function in functions]
    for row, rollout in enumerate(rewards.scored):
        total = sum(weight * (column[row] or 0.0) for weight, column in zip(weights, values, strict=True))
        assert total == pytest.approx(rollout.reward)


def test_each_batch_is_scored_once_and_a_new_batch_anew(
    rewards: ComponentRewards, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[str] = []
    real = registry.score_rollout

    def count(rollout: Rollout, databases: Databases | None, spec: SpecName) -> ScoredRollout:
        scored.append(rollout.task)
        return real(rollout, databases, spec)

    monkeypatch.setattr(registry, "score_rollout", count)
    functions, _ = rewards.functions()
    for batch in (_batch("push", "sentiment"), _batch("sentiment")):
        for function in functions:
            function(**batch)
    assert scored == ["push", "sentiment", "sentiment"]
