"""Ground truth beside the rewards: correctness of one answer, and each task's metrics over many.

Never mixed with the rewards: a reward can be gamed, and the gate requires that the truth did not get worse. JSON is
read strictly; what repaired JSON makes right is counted beside it (`tasks.bag_of_words.repair`).
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from schemas.documents import Rollout
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce import registry
from tasks.commerce.sql_qa.sandbox import Databases

if TYPE_CHECKING:
    # The published benchmark scores without the libraries that read tables.
    from schemas.tables.prompts import PromptRow


def truth_of(rollout: Rollout, databases: Databases) -> float | None:
    """Return the correctness of one answer, in [0, 1]; None without a reference.

    The strictest of `answer_metrics` counts: their mean would be high for an answer that keeps all that is cheap.
    """
    task = registry.TASKS[rollout.task]
    metrics = task.metric([rollout], databases)
    return next((metrics[name] for name in reversed(task.answer_metrics) if name in metrics), None)


def metrics_of(rollouts: Sequence[Rollout], databases: Databases) -> dict[TaskName, dict[str, float]]:
    """Return each task's ground-truth metrics over all answers of one model."""
    ordered = sorted(rollouts, key=lambda rollout: TASK_NAMES.index(rollout.task))
    by_task = groupby(ordered, key=lambda rollout: rollout.task)
    return {task: registry.TASKS[task].metric(list(answers), databases) for task, answers in by_task}


def metrics_apart(
    rollouts: Sequence[Rollout], training: Iterable["PromptRow"], databases: Databases
) -> dict[TaskName, dict[str, float]]:
    """Return the strictest metric of tasks in parts, apart for what was trained on and what was not.

    For push: `all_kept_seen` over campaigns whose product and offer stand in training, `all_kept_unseen_product` and
    `all_kept_unseen_offer` over the others; one of no answers is left out.
    """
    found: dict[TaskName, dict[str, float]] = {}
    rows = list(training)
    for name, task in registry.TASKS.items():
        answers = [rollout for rollout in rollouts if rollout.task == name and rollout.reference]
        trained = {key: {_part(row, key) for row in rows if row.task == name} for key in task.parts}
        unseen = {key: [each for each in answers if _part(each, key) not in known] for key, known in trained.items()}
        seen = [each for each in answers if all(_part(each, key) in known for key, known in trained.items())]
        strictest = task.answer_metrics[-1]
        groups = {"seen": seen, **{f"unseen_{key}": some for key, some in unseen.items()}} if trained else {}
        for group, some in groups.items():
            if some:
                found.setdefault(name, {})[f"{strictest}_{group}"] = task.metric(some, databases)[strictest]
    return found


def _part(prompt: "Rollout | PromptRow", key: str) -> str:
    return str((prompt.reference or {}).get(key)).strip().lower()
