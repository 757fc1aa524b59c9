"""Ground truth beside the rewards: correctness of one answer, and each task's metrics over many.

Never mixed with the rewards: a reward can be gamed, and the gate requires that the truth did not get worse. It reads
JSON strictly. Answers are counted a second time with broken JSON repaired, so that a gain of form is known as such.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from schemas.documents import Rollout
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce import registry
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.text.parser import Reading, parse_object
from tasks.commerce.truth_text import read_object

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


def repaired(rollouts: Sequence[Rollout]) -> list[Rollout]:
    """Return all rollouts, those of broken JSON with the object that a tolerant parser reads there without a doubt."""
    found = list(rollouts)
    for place, rollout in enumerate(rollouts):
        if registry.TASKS[rollout.task].answers_in_json and read_object(rollout.completion) is None:
            read = parse_object(rollout.completion)
            if read.value and Reading.CONTRADICTED not in read.needed:
                completion = json.dumps(read.value, ensure_ascii=False)
                found[place] = rollout.model_copy(update={"completion": completion})
    return found


def metrics_repaired(
    strict: Sequence[Rollout], lenient: Sequence[Rollout], databases: Databases
) -> dict[TaskName, dict[str, float]]:
    """Return accuracy and strictest metric of tasks in which answers were repaired, such as `accuracy_repaired`."""
    tasks = {new.task for old, new in zip(strict, lenient, strict=True) if new is not old}
    metrics = metrics_of([each for each in lenient if each.task in tasks], databases)
    return {
        task: {
            f"{name}_repaired": value
            for name, value in values.items()
            if name in ("accuracy", registry.TASKS[task].answer_metrics[-1])
        }
        for task, values in metrics.items()
    }


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
