"""Measures of a served model's answers beside the reward: variety, and the reward of those with a reference.

A model that gives one answer to every prompt keeps the form of the task. So a day's answers to different prompts are
paired, each once, by the prompts; the share of pairs that differ is a mean that the test of drift can compare. Right
answers repeat too, in a shop more often than in a test split: only a share below `LEAST` of the evaluation's is a fall.

Where some answers have a reference and others none, those with one are also compared by the full reward. That shows
something of the others only where nobody chose by the answer: people who give feedback correct wrong answers, unless
`monitor.feedback_is_a_sample` says that they were drawn at random.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from schemas.tasks import TASK_NAMES
from tasks.commerce.shortcuts import FORM
from tasks.monitor.drift import Compared
from tasks.monitor.scoring import MapChunks, Rewards, baselines_of, known_parts, scored
from tasks.monitor.series import count_rewards

LEAST: Final = 0.25
"""Share of the evaluation's variety that answers keep while nothing has collapsed."""


def compared_variety(answers: pl.DataFrame, tested: pl.DataFrame) -> Compared | None:
    """Compare how often answers to different prompts of a day differ with the evaluation; None without such answers."""
    pairs = _pairs(answers, ("task", "day"))
    if not pairs.height:
        return None
    baselines = {
        task: replace(each, mean=LEAST * each.mean, standard_error=LEAST * each.standard_error)
        for task, each in baselines_of(_pairs(tested, ("task",)), "differ").items()
    }
    there = set(pairs["task"])
    return Compared(count_rewards(pairs, [task for task in TASK_NAMES if task in there], "differ"), baselines)


def _pairs(answers: pl.DataFrame, within: Sequence[str]) -> pl.DataFrame:
    """Return pairs of answers to different prompts, with `prompt_id` (a pair's number) and whether they `differ`.

    The order of the pairs is that of the prompts' hashes, which no answer decides and which no time of day does.
    """
    import polars_hash  # noqa: F401 - gives expressions their `nchash`

    said = pl.col("completion").str.to_lowercase().str.replace_all(FORM.pattern, " ").str.strip_chars()
    order: pl.Expr = pl.col("prompt").nchash.xxh3_64(seed=1)  # type: ignore[attr-defined]
    one_each = answers.unique([*within, "prompt"], keep="first", maintain_order=True)
    numbered = one_each.sort([*within, order]).with_columns(
        said.alias("said"), (pl.int_range(pl.len()).over(list(within)) // 2).alias("prompt_id")
    )
    found = numbered.group_by([*within, "prompt_id"], maintain_order=True).agg(
        pl.len().alias("size"), (pl.col("said").n_unique() > 1).alias("differ")
    )
    return found.filter(pl.col("size") > 1).drop("size")


@dataclass(frozen=True)
class KnownAnswers:
    """Answers of a task with a reference, where others have none."""

    task: str
    answers: int
    mean: float
    """Their mean reward."""
    promised: float
    """That of the evaluation's answers, by the same parts of their references."""


def known_answers(
    logged: pl.DataFrame,
    tested: pl.DataFrame,
    tasks: frozenset[str],
    rewards: Rewards,
    map_chunks: MapChunks,
    *,
    feedback_is_a_sample: bool,
) -> tuple[Compared | None, list[KnownAnswers]]:
    """Compare the answers with a reference, in tasks of which not every answer has one; None where there are none."""
    is_known = pl.col("reference").is_not_null() & pl.col("task").is_in(list(tasks))
    is_sample = pl.lit(value=True) if feedback_is_a_sample else pl.col("known_before")
    known, promised = logged.filter(is_known & is_sample), tested.filter(is_known)
    both = pl.concat([each.select("task", "reference") for each in (known, promised)])
    parts = {task: found.by_each for task, found in known_parts(both).items() if found.by_each}
    usable = [
        task for task in TASK_NAMES if task in parts and all(task in set(each["task"]) for each in (known, promised))
    ]
    if not usable:
        return None, []
    of_usable, by_parts = pl.col("task").is_in(usable), replace(rewards, references=parts)
    known, promised = (scored(each.filter(of_usable), by_parts, map_chunks) for each in (known, promised))
    baselines, found = baselines_of(promised), []
    for task in usable:
        values = known.filter(pl.col("task") == task)["reward"].to_numpy()
        found.append(KnownAnswers(task, len(values), float(values.mean()), baselines[task].mean))
    return Compared(count_rewards(known, usable), baselines), found
