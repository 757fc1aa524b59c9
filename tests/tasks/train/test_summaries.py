"""One summary of several trainings, by hand."""

from typing import Any

import pytest

from tasks.train.summaries import chosen_reward, merge_summaries


def summary(task: str, rewards: dict[int, float], chosen: int, *, stopped_early: bool = False) -> dict[str, Any]:
    validation = [
        {
            "step": step,
            "mean_reward": reward,
            "by_task": {task: reward},
            "ground_truth": {task: {"accuracy": reward / 2}},
        }
        for step, reward in rewards.items()
    ]
    return {
        "seed": 7,
        "audit": {"spec": "grounded"},
        "steps": max(rewards),
        "chosen_step": chosen,
        "stopped_early": stopped_early,
        "validation": validation,
        "log": [{"loss": 0.5}],
    }


PUSH = summary("push", {0: 0.1, 10: 0.5, 20: 0.4}, 10, stopped_early=True)
CHURN = summary("churn", {0: 0.3, 10: 0.4, 20: 0.6, 30: 0.8}, 30)


def test_each_task_counts_with_its_latest_reward_and_keeps_its_own_step() -> None:
    merged = merge_summaries({"push": PUSH, "churn": CHURN})
    assert {entry["step"]: entry["mean_reward"] for entry in merged["validation"]} == pytest.approx(
        {0: 0.2, 10: 0.45, 20: 0.5, 30: 0.6}
    )
    assert merged["validation"][-1]["by_task"] == {"push": 0.4, "churn": 0.8}
    assert merged["validation"][-1]["ground_truth"] == {"push": {"accuracy": 0.2}, "churn": {"accuracy": 0.4}}
    assert (merged["steps"], merged["stopped_early"], merged["seed"]) == (30, True, 7)
    assert merged["chosen_step"] is None
    assert merged["chosen_steps"] == {"push": 10, "churn": 30}
    assert chosen_reward(merged) == pytest.approx((0.5 + 0.8) / 2)
