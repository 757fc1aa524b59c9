"""Ground truth beside the rewards: correctness of one answer, and each task's metrics over many.

Never mixed with the rewards: a reward can be gamed, and the gate requires that the truth did not get worse.
"""

from collections.abc import Sequence
from itertools import groupby

from schemas.documents import Rollout
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.commerce import registry
from tasks.commerce.sql_qa.sandbox import Databases


def truth_of(rollout: Rollout, databases: Databases, spec: SpecName = "grounded") -> float | None:
    """Return the correctness of one answer, in [0, 1]; None without a reference.

    The strictest of `answer_metrics` counts: their mean would be high for an answer that keeps all that is cheap.
    """
    task = registry.tasks_of(spec)[rollout.task]
    metrics = task.metric([rollout], databases)
    return next((metrics[name] for name in reversed(task.answer_metrics) if name in metrics), None)


def metrics_of(
    rollouts: Sequence[Rollout], databases: Databases, spec: SpecName = "grounded"
) -> dict[TaskName, dict[str, float]]:
    """Return each task's ground-truth metrics over all answers of one model."""
    ordered = sorted(rollouts, key=lambda rollout: TASK_NAMES.index(rollout.task))
    by_task = groupby(ordered, key=lambda rollout: rollout.task)
    return {task: registry.tasks_of(spec)[task].metric(list(answers), databases) for task, answers in by_task}
