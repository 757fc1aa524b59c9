"""Differences of reward between a challenger and the champion, each worth as much as another.

A shadow's answer is compared with the champion's to the same request: what is hard or easy about the request is in
both, and cancels out. Where the challenger answered in the champion's place there is no such answer. Then the answers
to a task are taken as they came, and whenever there are some of both models, the difference of their means counts; both
begin anew with the next answer, and with each day. So no answer counts twice, the model that answers less has one
answer in each difference, and nothing depends on when somebody looks.

Which of both answers must not depend on what would come of it: the gateway draws it by a digest of the request's key.
Where few keys make many requests, the difference of their requests remains, which a shadow does not have.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import polars as pl

from tasks.monitor.trial_answers import CHALLENGER, SHADOW

_SCHEMA: Final[Mapping[str, Any]] = {
    "day": pl.Date,
    "time": pl.Datetime("us", "UTC"),
    "task": pl.String,
    "difference": pl.Float64,
    "answers": pl.Int64,
}


def differences(scored: pl.DataFrame, challenger: str) -> pl.DataFrame:
    """Return the differences between a challenger and the champion, by time.

    Args:
        scored: Answers of the trials (`tasks.monitor.trial_answers`) with their `reward`.
        challenger: Its NAME/VERSION.

    Returns:
        `day`, `time`, `task`, `difference` (challenger less champion, in [-1, 1]), and `answers`, the number of the
        challenger's behind it.
    """
    champions = scored.filter(pl.col("challenger").is_null())
    own = scored.filter(pl.col("challenger") == challenger)
    shadows = (
        own.filter(pl.col("role") == SHADOW)
        .unique("shadow_of", keep="first", maintain_order=True)
        .join(champions.select("answer", beside="reward"), left_on="shadow_of", right_on="answer", how="inner")
    )
    paired = shadows.select(
        "day", "time", "task", (pl.col("reward") - pl.col("beside")).alias("difference"), answers=pl.lit(1, pl.Int64)
    )
    free = pl.concat(
        [
            champions.join(shadows, left_on="answer", right_on="shadow_of", how="anti"),
            own.filter(pl.col("role") == CHALLENGER),
        ]
    ).sort("answer")
    in_turn = _in_turn(free.select("day", "time", "task", pl.col("challenger").is_not_null(), "reward").iter_rows())
    found = pl.concat([paired, pl.DataFrame(list(in_turn), schema=dict(_SCHEMA), orient="row")])
    return found.sort("time", maintain_order=True)


def _in_turn(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Yield the differences of answers as they came, by the columns of the result."""
    begun: dict[tuple[Any, Any], tuple[list[float], list[int]]] = {}
    for day, time, task, is_challengers, reward in rows:
        total, count = begun.setdefault((task, day), ([0.0, 0.0], [0, 0]))
        total[is_challengers] += reward
        count[is_challengers] += 1
        if all(count):
            yield day, time, task, total[1] / count[1] - total[0] / count[0], count[1]
            del begun[task, day]
