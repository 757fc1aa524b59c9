"""Baselines: answers that take no language model, chosen on the training split and scored like a model's.

A model that does not beat them has learned nothing that is worth its serving: a constant answers every prompt alike, a
rule reads only the prompt's own lines, a bag of words learns one field from the same rows, and an echo reads nothing.
"""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final

from schemas.config.evaluate import BASELINES
from schemas.documents import Rollout
from schemas.progress import Progress, silent
from schemas.references import knows_anything
from schemas.tables.prompts import PromptRow
from schemas.tasks import TASK_NAMES, TaskName
from tasks.bag_of_words.bag import BagOfWords, learn
from tasks.bag_of_words.sentences import BAG_OF_WORDS
from tasks.commerce.registry import TASKS
from tasks.commerce.shortcuts import choose_rule
from tasks.report.number_format import decimal
from tasks.report.wording import worded

CANDIDATES: Final = 24  # Most frequent answers of the training split among which a constant is chosen.
CHOOSING: Final = 48  # Prompts of the training split that choose it.
OF_A_RULE: Final = 8  # Answers that a rule may give.

Score = Callable[[Rollout], float]


@dataclass
class BaselineAnswers:
    """One baseline's answers to the test split, of the tasks that have such a baseline."""

    name: str
    says: dict[TaskName, str] = field(default_factory=dict)
    """By task, its text, the lines that it reads, or the rows that taught it."""
    rollouts: list[Rollout] = field(default_factory=list)
    bags: dict[TaskName, BagOfWords] = field(default_factory=dict)
    """Of the bag of words, what it learned."""


def baselines(
    training: Sequence[PromptRow], answered: Sequence[Rollout], score: Score, seed: int, progress: Progress = silent
) -> list[BaselineAnswers]:
    """Choose the baselines of each task that was answered, and answer as they do."""
    found = {name: BaselineAnswers(name) for name in BASELINES}
    asked = [task for task in TASK_NAMES if any(rollout.task == task for rollout in answered)]
    for done, task in enumerate(asked):
        progress(done, len(asked), "baselines chosen")
        rows = [row for row in training if row.task == task and knows_anything(row.reference)]
        rollouts = [rollout for rollout in answered if rollout.task == task]
        generator = random.Random(f"{seed}:{task}:baselines")
        of_task = _of_task(task, rows, score, generator)
        if (bag := learn(task, rows, generator)) is not None:
            found[BAG_OF_WORDS].bags[task] = bag
            of_task.append((BAG_OF_WORDS, worded("from {n} rows", n=decimal(bag.rows, 0)), bag.answer))
        for name, says, answer in of_task:
            found[name].says[task] = says
            found[name].rollouts += [
                rollout.model_copy(update={"completion": answer(rollout.prompt)}) for rollout in rollouts
            ]
    progress(len(asked), len(asked), "baselines chosen")
    return [each for each in found.values() if each.rollouts]


def _of_task(
    task: TaskName, rows: Sequence[PromptRow], score: Score, generator: random.Random
) -> list[tuple[str, str, Callable[[str], str]]]:
    echo: tuple[str, str, Callable[[str], str]] = ("echo", "", lambda prompt: prompt)
    if not rows:
        return [echo]
    answers = [TASKS[task].answer(row.reference) for row in rows]
    usual = _most_frequent_fields([*map(json.loads, answers)]) if TASKS[task].answers_in_json else None
    frequent = [answer for answer, _ in Counter(answers).most_common(CANDIDATES)]
    candidates = list(dict.fromkeys([*frequent, *([usual] if usual else [])]))
    choosing = generator.sample(rows, min(CHOOSING, len(rows)))
    earned = [[score(row.answered(candidate)) for candidate in candidates] for row in choosing]
    constant = candidates[max(range(len(candidates)), key=lambda place: fmean(row[place] for row in earned))]
    found: list[tuple[str, str, Callable[[str], str]]] = [("constant", constant, lambda _: constant)]
    if usual is not None and usual != constant:
        found.append(("majority", usual, lambda _: usual))
    rule = choose_rule([row.prompt for row in choosing], candidates[:OF_A_RULE], [row[:OF_A_RULE] for row in earned])
    if rule is not None:
        found.append(("rule", worded("by {lines}", lines=", ".join(rule.names)), rule.answer))
    return [*found, echo]


def _most_frequent_fields(objects: Sequence[Mapping[str, Any]]) -> str:
    """Return the object of each field's most frequent value, of the fields that at least half of the objects have."""
    values: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in objects:
        for name, value in each.items():
            values[name][json.dumps(value, ensure_ascii=False)] += 1
    fields = {
        name: json.loads(found.most_common(1)[0][0])
        for name, found in values.items()
        if 2 * found.total() >= len(objects)
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
