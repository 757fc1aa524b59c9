"""Daily metrics of a served model, by task."""

import polars as pl

from schemas.tasks import TASK_NAMES
from tasks.monitor.drift import ALL
from tasks.monitor.mean_error import interval

_FEW: tuple[pl.Expr, ...] = (
    pl.len().cast(pl.Int64).alias("answers"),
    pl.col("reward").sum().alias("total"),
    (pl.col("reward") ** 2).sum().alias("squares"),
    pl.col("valid").mean().alias("valid_share"),
    pl.col("answered").mean().alias("answered_share"),
    pl.col("characters").median().alias("characters"),
    pl.col("latency_ms").quantile(0.5, "linear").alias("latency_p50"),
    pl.col("latency_ms").quantile(0.95, "linear").alias("latency_p95"),
    pl.col("cost").mean().alias("cost_per_analysis"),
)


def daily_figures(scored: pl.DataFrame) -> pl.DataFrame:
    """Return one row per task and day with answers, and one per day for `all` of them.

    The interval is Student's t of the answers and four more (`tasks.monitor.mean_error`), which is valid for few,
    skewed and tied rewards. It is for other answers of the same day; `all` is in the day's own mix of tasks.

    Args:
        scored: Scored answers: `day`, `task`, `reward`, `valid`, `answered`, `characters`, `latency_ms` and `cost`.

    Returns:
        `task`, `day`, `answers`, `mean`, `low` and `high` (a 95 % interval of the mean), `valid_share` (of the answers
        whose task has a form; null if none has), `answered_share` (neither empty nor a refusal),
        `characters` (median), `latency_p50` and `latency_p95` (milliseconds), `cost_per_analysis` (US dollars, the mean
        of the logged costs; null without any); `all` first, then the tasks in the project's order, each by day.
    """
    by_task = scored.lazy().group_by("task", "day").agg(*_FEW)
    together = scored.lazy().group_by("day").agg(*_FEW).select(pl.lit(ALL).alias("task"), pl.all())
    found = pl.concat([together, by_task]).sort(pl.col("task").cast(pl.Enum([ALL, *TASK_NAMES])), "day").collect()
    answers, total, squares = (found[name].cast(pl.Float64).to_numpy() for name in ("answers", "total", "squares"))
    low, high = interval(answers, total, squares)
    return found.select(
        "task",
        "day",
        "answers",
        (pl.col("total") / pl.col("answers")).alias("mean"),
        pl.Series("low", low),
        pl.Series("high", high),
        "valid_share",
        "answered_share",
        "characters",
        "latency_p50",
        "latency_p95",
        "cost_per_analysis",
    )
