"""Answers with a reference in a task where others have none, and what they show of all.

Without references only the form of an answer is scored. Where some answers have one, these are compared by the full
reward too, with the test answers scored by the same parts. What that shows of the others depends on who chose:

- A reference in the log was known before the answer was given. Nobody chose it by the answer, so these answers stand
  for all of their kind, and their mean is compared (`reference`).
- Feedback came after the answer, and who corrects an answer corrects a wrong one: a mean of such answers is low where
  nothing has drifted. So every answer without a reference counts as right (`correction`): if the mean is short of the
  evaluation even so, it is, whatever was chosen. That shows little where few are corrected.

Where people give feedback to answers drawn at random, `monitor.feedback_is_a_sample` makes it as good as the log's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from schemas.tasks import TASK_NAMES, TaskName
from tasks.monitor.drift import Compared, Measure
from tasks.monitor.known_parts import known_parts
from tasks.monitor.reward_counts import count_rewards
from tasks.monitor.scoring import baselines_of
from tasks.report.number_format import decimal
from tasks.report.wording import worded

ScoreByParts = Callable[[pl.DataFrame, Mapping[TaskName, frozenset[str]]], pl.DataFrame]
"""Scores answers by these parts of their references."""


@dataclass(frozen=True)
class KnownAnswers:
    """Answers of a task with a reference, where others have none."""

    task: str
    measure: Measure
    """`reference` or `correction`."""
    answers: int
    mean: float
    """Their mean reward."""
    promised: float
    """That of the evaluation's answers, by the same parts of their references."""


def known_answers(
    logged: pl.DataFrame,
    tested: pl.DataFrame,
    tasks: frozenset[str],
    score: ScoreByParts,
    *,
    feedback_is_a_sample: bool,
) -> tuple[dict[Measure, Compared], list[KnownAnswers]]:
    """Compare the answers with a reference.

    Args:
        logged: The champion's answers: `day`, `task`, `prompt`, `completion`, `reference` and `known_before`.
        tested: Its answers to the test split, with `prompt_id`.
        tasks: The tasks of which not every answer has a reference.
        score: Scores answers by some parts of their references.
        feedback_is_a_sample: Whether answers were drawn at random for feedback.

    Returns:
        What drift is looked for in, and the answers of each task and kind; both empty where no reference is known, or
        none of the test split's.
    """
    is_known = pl.col("reference").is_not_null() & pl.col("task").is_in(list(tasks))
    known, promised = logged.filter(is_known), tested.filter(is_known)
    both = pl.concat([each.select("task", "reference") for each in (known, promised)])
    parts = {task: found.by_each for task, found in known_parts(both).items() if found.by_each}
    usable = [task for task in TASK_NAMES if task in parts and task in set(promised["task"])]
    known = score(known.filter(pl.col("task").is_in(usable)), parts)
    baselines = baselines_of(score(promised.filter(pl.col("task").is_in(usable)), parts))
    is_sample = pl.lit(value=True) if feedback_is_a_sample else pl.col("known_before")
    chosen = known.filter(~is_sample)
    corrected = list(chosen["task"].unique())
    unknown = logged.filter(~is_known & pl.col("task").is_in(corrected)).select("day", "task", reward=pl.lit(1.0))
    with_rest = pl.concat([known.filter(pl.col("task").is_in(corrected)).select("day", "task", "reward"), unknown])
    counted: tuple[tuple[Measure, pl.DataFrame, pl.DataFrame], ...] = (
        ("reference", known.filter(is_sample), known.filter(is_sample)),
        ("correction", chosen, with_rest),
    )
    compared, found = {}, []
    for measure, of_measure, counts in counted:
        there = [task for task in usable if task in set(of_measure["task"])]
        if there:
            compared[measure] = Compared(count_rewards(counts, there), {task: baselines[task] for task in there})
        for task in there:
            rewards = of_measure.filter(pl.col("task") == task)["reward"].to_numpy()
            found.append(KnownAnswers(task, measure, len(rewards), float(rewards.mean()), baselines[task].mean))
    return compared, found


def known_sentence(known: Mapping[str, Any]) -> str:
    """State the mean reward of a task's answers with a reference, given as JSON-compatible values."""
    message = "{task}: {answers} answers with a reference have the mean reward {mean}, the evaluation's {promised}."
    if known["measure"] == "correction":
        message = (
            "{task}: {answers} answers with a reference have the mean reward {mean}, the evaluation's {promised}; "
            "people chose which to correct, so that is no sample, and the others count as right in its test."
        )
    return worded(
        message,
        task=known["task"],
        answers=decimal(known["answers"], 0),
        mean=decimal(known["mean"]),
        promised=decimal(known["promised"]),
    )
