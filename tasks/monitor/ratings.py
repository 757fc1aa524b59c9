"""Ratings of answers by those who asked."""

import polars as pl


def ratings_of(answers: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Return the mean rating and the number of ratings by task, of tasks with any.

    Args:
        answers: `task` and `rating` (1 to 5, or null).
    """
    rated = answers.filter(pl.col("rating").is_not_null()).group_by("task").agg(pl.col("rating").mean(), pl.len())
    return {task: {"mean": mean, "answers": count} for task, mean, count in rated.sort("task").iter_rows()}
