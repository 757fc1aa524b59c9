"""Ground truth beside the rewards: correctness of one answer, and each task's metrics over many.

Never mixed with the rewards: a reward can be gamed, and the gate requires that the truth did not get worse.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Final

from schemas.documents import Rollout
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce import registry
from tasks.commerce.sandbox import Databases

OF_ONE_ANSWER: Final[Mapping[TaskName, tuple[str, ...]]] = {
    "extraction": ("field_f1",),
    "sql_qa": ("execution_accuracy",),
    "insights": ("quotes_facts", "no_false_number", "within_length", "recommends"),
    "push": ("within_length", "names_product", "names_offer", "informal", "one_message"),
    "sentiment": ("accuracy",),
    "churn": ("accuracy",),
}
"""Metrics of each task that are defined for one answer; macro-F1 and AUC need many."""


def truth_of(rollout: Rollout, databases: Databases) -> float | None:
    """Return the correctness of one answer, in [0, 1]: the mean of its task's metrics; None without a reference."""
    metrics = registry.TASKS[rollout.task].metric([rollout], databases)
    known = [metrics[name] for name in OF_ONE_ANSWER[rollout.task] if name in metrics]
    return fmean(known) if known else None


def metrics_of(rollouts: Sequence[Rollout], databases: Databases) -> dict[TaskName, dict[str, float]]:
    """Return each task's ground-truth metrics over all answers of one model."""
    ordered = sorted(rollouts, key=lambda rollout: TASK_NAMES.index(rollout.task))
    by_task = groupby(ordered, key=lambda rollout: rollout.task)
    return {task: registry.TASKS[task].metric(list(answers), databases) for task, answers in by_task}
