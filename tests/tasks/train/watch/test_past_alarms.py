"""Alarms of an ended training: those that it raised, at the steps at which it raised them."""

from typing import Any

from schemas.config.train_sections import AlarmsSection
from tasks.train.watch.past_alarms import past_alarms

LIMITS = AlarmsSection(patience=2, hacking_patience=1)


def validation(step: int, reward: float, truth: float) -> dict[str, Any]:
    return {"step": step, "mean_reward": reward, "by_task": {"push": reward}, "ground_truth": {"push": {"own": truth}}}


def entry(step: int, **metrics: float) -> dict[str, Any]:
    return {"step": step, "loss": 0.1, "grad_norm": 0.5, "entropy": 1.0, "zero_variance": 0.0, **metrics}


def test_alarms_of_steps_and_of_validations_are_raised_again_where_they_were() -> None:
    summary = {
        "log": [entry(1), entry(2, zero_variance=1.0), entry(3, zero_variance=1.0), entry(4)],
        "validation": [validation(0, 0.5, 0.75), validation(4, 0.75, 0.5)],
    }
    assert [(alarm.step, alarm.name) for alarm in past_alarms(summary, LIMITS, 1)] == [
        (3, "zero_variance"),
        (4, "reward_hacking"),
    ]


def test_a_summary_of_several_trainings_has_none_of_its_own() -> None:
    assert past_alarms({"validation": [validation(0, 0.5, 0.75), validation(4, 0.75, 0.5)]}, LIMITS, 1) == []
