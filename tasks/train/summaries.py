"""Training summaries in `training.json`, also of policies with one adapter per task."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from schemas.tasks import TaskName
from tasks.policy.load import ADAPTER_FOLDER, TASK_ADAPTERS_FOLDER

SUMMARY_FILE = "training.json"
TASKS_FOLDER = "tasks"


def read_summary(policy: Path) -> Any:
    """Read a policy's training.json."""
    return json.loads((policy / SUMMARY_FILE).read_text(encoding="utf-8"))


def reward_before(summary: Mapping[str, Any]) -> float:
    """Return the mean validation reward before the first step."""
    return float(next(validation for validation in summary["validation"] if validation["step"] == 0)["mean_reward"])


def chosen_reward(summary: Mapping[str, Any]) -> float:
    """Return the chosen checkpoint's validation reward, in [0, 1]: the mean over tasks, each at its adapter's step."""
    by_step = {validation["step"]: validation for validation in summary["validation"]}
    if summary["chosen_step"] is not None:
        return float(by_step[summary["chosen_step"]]["mean_reward"])
    return fmean(by_step[step]["by_task"][task] for task, step in summary["chosen_steps"].items())


def rewards_by_task(summary: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return each task's chosen step, and its validation reward in [0, 1] before training and at that step."""
    by_step = {validation["step"]: validation["by_task"] for validation in summary["validation"]}
    # Tasks trained separately have a step each.
    steps = summary.get("chosen_steps") or dict.fromkeys(by_step[0], summary["chosen_step"])
    return {
        task: {"chosen_step": step, "before": by_step[0][task], "chosen": by_step[step][task]}
        for task, step in steps.items()
    }


def gather_tasks(policy: Path, tasks: Sequence[TaskName]) -> None:
    """Combine the trainings in `tasks/TASK` of a policy's folder, one per task, into one policy.

    Each adapter becomes `adapters/TASK`, and the policy gets a combined summary; the rest stays in place.
    """
    (policy / TASK_ADAPTERS_FOLDER).mkdir()
    for task in tasks:
        (policy / TASKS_FOLDER / task / ADAPTER_FOLDER).replace(policy / TASK_ADAPTERS_FOLDER / task)
    summary = merge_summaries({task: read_summary(policy / TASKS_FOLDER / task) for task in tasks})
    (policy / SUMMARY_FILE).write_text(json.dumps(summary, indent=1, sort_keys=True), encoding="utf-8")


def merge_summaries(summaries: Mapping[TaskName, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the summary of a policy with one training per task.

    It has all fields of an ordinary summary except its log. No step is chosen for all, so `chosen_step` is None and
    `chosen_steps` has each task's. A task counts in each validation with its latest reward until then.
    """
    first = next(iter(summaries.values()))
    steps = sorted({validation["step"] for summary in summaries.values() for validation in summary["validation"]})
    return {
        "seed": first["seed"],
        "audit": first["audit"],
        "steps": max(summary["steps"] for summary in summaries.values()),
        "chosen_step": None,
        "chosen_steps": {task: summary["chosen_step"] for task, summary in summaries.items()},
        "stopped_early": any(summary["stopped_early"] for summary in summaries.values()),
        "unknown_to_engine": first.get("unknown_to_engine"),
        "validation": [_validation(summaries, step) for step in steps],
    }


def _validation(summaries: Mapping[TaskName, Mapping[str, Any]], step: int) -> dict[str, Any]:
    latest = {}
    for task, summary in summaries.items():
        until_then = [validation for validation in summary["validation"] if validation["step"] <= step]
        latest[task] = max(until_then, key=lambda validation: int(validation["step"]))
    by_task = {task: validation["by_task"][task] for task, validation in latest.items()}
    return {
        "step": step,
        "mean_reward": fmean(by_task.values()),
        "by_task": by_task,
        "ground_truth": {task: validation["ground_truth"][task] for task, validation in latest.items()},
    }
