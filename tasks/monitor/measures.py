"""Measures of a served model's answers beside the reward: variety, those with a reference, ratings and cost.

A model that gives one answer to every prompt keeps the form of the task, and without references nothing else is seen.
So the answers of a day to different prompts are paired, each in one pair, by the prompts and not by the answers; the
share of pairs that differ is a mean that the test of drift can compare.

Right answers repeat too, and in a shop more often than in a test split: most reviews are happy. So only a share below
`LEAST` of the evaluation's is a fall: where the evaluation's answers differ in seven pairs of ten, a log in which nine
in ten right answers are the same is none, and nineteen in twenty is.

Without references only the form of an answer is scored. Where some answers have one, these are compared by the full
reward too, with the test answers scored by the same parts. What that shows of the others depends on who chose:

- A reference in the log was known before the answer was given. Nobody chose it by the answer, so these answers stand
  for all of their kind, and their mean is compared (`reference`).
- Feedback came after the answer, and who corrects an answer corrects a wrong one: a mean of such answers is low where
  nothing has drifted. So every answer without a reference counts as right (`correction`): if the mean is short of the
  evaluation even so, it is, whatever was chosen. That shows little where few are corrected.

Where people give feedback to answers drawn at random, `monitor.feedback_is_a_sample` makes it as good as the log's.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import polars as pl

from schemas.config.evaluate import CostConfig
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.shortcuts import FORM
from tasks.monitor.drift import Compared, Measure
from tasks.monitor.scoring import baselines_of, known_parts
from tasks.monitor.series import count_rewards

LEAST: Final = 0.25
"""Share of the evaluation's variety that answers keep while nothing has collapsed."""
_SEED: Final = 1


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
    order: pl.Expr = pl.col("prompt").nchash.xxh3_64(seed=_SEED)  # type: ignore[attr-defined]
    one_each = answers.unique([*within, "prompt"], keep="first", maintain_order=True)
    numbered = one_each.sort([*within, order]).with_columns(
        said.alias("said"), (pl.int_range(pl.len()).over(list(within)) // 2).alias("prompt_id")
    )
    found = numbered.group_by([*within, "prompt_id"], maintain_order=True).agg(
        pl.len().alias("size"), (pl.col("said").n_unique() > 1).alias("differ")
    )
    return found.filter(pl.col("size") > 1).drop("size")


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
    """Compare the answers with a reference, in tasks of which not every answer has one.

    Both results, what drift is looked for in and the answers of each task and kind, are empty where no reference is
    known, or none of the test split's.
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


def ratings_of(answers: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Return the mean rating, 1 to 5, and the number of ratings by task, of tasks with any."""
    rated = answers.filter(pl.col("rating").is_not_null()).group_by("task").agg(pl.col("rating").mean(), pl.len())
    return {task: {"mean": mean, "answers": count} for task, mean, count in rated.sort("task").iter_rows()}


@dataclass(frozen=True)
class ServingCost:
    """Cost of serving over the monitored days."""

    source: Literal["logged", "machine"]
    """`logged`: the mean of the logged costs; `machine`: one machine that is paid all day."""
    answers_a_day: float
    """Mean over the days with answers; incomplete first and last days make it too low."""
    cost_per_analysis: float
    """US dollars."""
    costed_share: float
    """Share of the answers whose cost was logged, in [0, 1]."""
    api_price_per_analysis: float
    """US dollars, from the configuration."""
    saved_a_day: float
    """US dollars a day that the API would cost more; negative if less."""
    break_even: float | None
    """Answers a day from which a machine that is paid all day is cheaper than the API; None for a free API. The logs do
    not show whether one machine could answer so many."""


def serving_cost(scored: pl.DataFrame, prices: CostConfig) -> ServingCost:
    """Compute the cost of an analysis: from the logs if they have any, otherwise from a machine's hourly price."""
    logged = scored["cost"].drop_nulls()
    answers_a_day = scored.height / scored["day"].n_unique()
    each = float(logged.sum()) / len(logged) if len(logged) else prices.price_per_day / answers_a_day
    return ServingCost(
        source="logged" if len(logged) else "machine",
        answers_a_day=answers_a_day,
        cost_per_analysis=each,
        costed_share=len(logged) / scored.height,
        api_price_per_analysis=prices.api_price_per_analysis,
        saved_a_day=(prices.api_price_per_analysis - each) * answers_a_day,
        break_even=prices.break_even,
    )
