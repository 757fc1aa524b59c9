"""Verdicts of a trial: it may grow, it must go, or nothing is shown yet; and how wrong they may be."""

import json
from datetime import UTC, date, datetime, timedelta
from typing import Final

import numpy as np
import polars as pl
import pytest

from schemas.tasks import TASK_NAMES
from tasks.monitor.mean_bounds import DailyValues, mean_bounds, values_needed
from tasks.monitor.paired import differences
from tasks.monitor.trials import ERROR, ChallengerTrial, find_trials
from tasks.report.language import spoken

FIRST: Final = date(2026, 3, 1)
TOLERANCE: Final = 0.02


def shadowed(
    difference: float, days: int, task: str = "push", each: int = 100, challenger: str = "shop/4"
) -> pl.DataFrame:
    """Return days of answers of the champion and of its shadow, whose mean is so much higher."""
    rng = np.random.default_rng(len(task))
    count = days * each
    reward = rng.uniform(0.3, 0.7, count)
    own = reward + difference + rng.normal(0, 0.1, count)
    day = [FIRST + timedelta(number // each) for number in range(count)]
    time = [datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=number * 10) for number in range(count)]
    shared = {"day": day, "time": pl.Series(time, dtype=pl.Datetime("us", "UTC")), "task": [task] * count}
    sides = [
        pl.DataFrame({**shared, "challenger": [name] * count, "role": [role] * count, "reward": rewards}, strict=False)
        for name, role, rewards in ((None, "champion", reward), (challenger, "shadow", own))
    ]
    numbers = pl.int_range(count, eager=True)
    return pl.concat(
        [
            sides[0].with_columns(
                pl.col("challenger").cast(pl.String), answer=numbers, shadow_of=pl.lit(None, pl.Int64)
            ),
            sides[1].with_columns(answer=numbers + count, shadow_of=numbers),
        ]
    )


def of_tasks(differences: dict[str, float], days: int, each: int = 100) -> pl.DataFrame:
    parts = []
    for number, (task, difference) in enumerate(differences.items()):
        shift = 1_000_000 * number
        part = shadowed(difference, days, task, each)
        parts.append(part.with_columns(pl.col("answer") + shift, pl.col("shadow_of") + shift))
    return pl.concat(parts)


def trial(scored: pl.DataFrame) -> ChallengerTrial:
    (found,) = find_trials(scored, TOLERANCE)
    return found


def test_one_that_is_as_good_may_grow_once_that_is_shown() -> None:
    first = trial(shadowed(0.0, 1, each=20))
    assert first.verdict == "undecided"
    later = trial(shadowed(0.0, 20))
    assert later.verdict == "may grow"
    assert "may grow: not worse than the champion by more than 0.02" in later.reason()
    assert later.series[0].low > -TOLERANCE
    # A loss within the tolerance is none.
    assert trial(shadowed(-0.01, 60)).verdict == "may grow"


def test_one_that_is_worse_must_go_soon() -> None:
    found = trial(shadowed(-0.1, 2))
    assert found.verdict == "must go"
    assert "must go: worse than the champion by more than 0.02: all tasks together by 0.0" in found.reason()


def test_in_portuguese_a_verdict_has_no_english_word() -> None:
    with spoken("pt"):
        reason = trial(shadowed(-0.1, 2)).reason()
    assert "por mais de 0,02: todas as tarefas juntas por" in reason
    assert "together" not in reason


def test_one_task_that_is_worse_is_enough_to_go_and_is_named() -> None:
    better: dict[str, float] = {task: 0.05 for task in TASK_NAMES if task != "churn"}
    found = trial(of_tasks({**better, "churn": -0.1}, days=3))
    assert found.series[0].finding == "no worse"
    assert [each.name for each in found.series if each.finding == "worse"] == ["churn"]
    assert found.verdict == "must go"
    assert "churn by 0.1" in found.reason()
    assert "push" not in found.reason()


def test_tasks_that_are_not_shown_yet_do_not_stop_one_that_is_as_good_over_all() -> None:
    found = trial(of_tasks(dict.fromkeys(TASK_NAMES, 0.0), days=12, each=30))
    assert {each.finding for each in found.series[1:]} == {"undecided"}
    assert found.verdict == "may grow"


def test_an_undecided_one_says_what_it_would_take() -> None:
    found = trial(shadowed(0.0, 1))
    (whole, _) = found.series
    assert whole.finding == "undecided"
    assert whole.needed is not None
    more = round(whole.needed, 1 - len(str(whole.needed)) + 1)
    assert f"about {more:,} more answers show that it may grow" in found.reason()
    worse = trial(shadowed(-0.06, 1, each=40))
    assert "more answers show that it must go" in worse.reason()
    few = trial(shadowed(0.0, 1, each=5))
    assert few.series[0].needed is None
    assert "how many more answers it takes cannot be said yet" in few.reason()


def test_needed_answers_are_the_challengers_where_several_make_one_difference() -> None:
    # It has nine of ten requests, so that nine answers of its make a difference.
    scored = shadowed(0.0, 1, each=400).with_columns(shadow_of=pl.lit(None, pl.UInt32))
    own, champions = scored.filter(pl.col("role") == "shadow"), scored.filter(pl.col("role") == "champion")
    mixed = pl.concat([champions.gather_every(9), own.with_columns(role=pl.lit("challenger"))])
    mixed = mixed.drop("answer").sort("time").with_row_index("answer")
    found = trial(mixed)
    assert found.shadows == 0
    assert found.series[0].answers / found.series[0].differences == pytest.approx(9, abs=1)
    values = differences(mixed, "shop/4")["difference"].to_numpy()
    more = values_needed(DailyValues(values, np.array([0])), -TOLERANCE, ERROR / 2)
    assert more is not None
    assert found.series[0].needed == pytest.approx(9 * more, rel=0.1)


def test_one_that_has_nothing_beside_it_is_undecided() -> None:
    found = trial(shadowed(0.0, 1).with_columns(shadow_of=pl.lit(None, pl.Int64)))
    assert (found.verdict, found.series) == ("undecided", ())
    assert "none of them has an answer of the champion beside it" in found.reason()


def test_each_challenger_is_compared_by_itself_in_the_order_of_versions() -> None:
    good = shadowed(0.0, 20, challenger="shop/10")
    bad = shadowed(-0.1, 20, challenger="shop/9").with_columns(pl.col("answer", "shadow_of") + 10_000)
    found = find_trials(pl.concat([good, bad]), TOLERANCE)
    assert [(each.challenger, each.verdict) for each in found] == [("shop/9", "must go"), ("shop/10", "may grow")]


def test_the_stated_error_is_split_alike_however_many_tasks_were_asked() -> None:
    scored = shadowed(0.0, 3)
    values = scored.filter(pl.col("role") == "shadow")["reward"] - scored.filter(pl.col("role") == "champion")["reward"]
    daily = DailyValues(values.to_numpy(), np.array([0, 100, 200]))
    whole, push = trial(scored).series
    assert (whole.low, whole.high) == mean_bounds(daily, ERROR / 2)
    assert (push.low, push.high) == mean_bounds(daily, ERROR / 2 / len(TASK_NAMES))


def test_the_document_is_json_with_the_verdict() -> None:
    document = json.loads(json.dumps(trial(shadowed(-0.1, 2)).document()))
    assert document["verdict"] == "must go"
    assert document["reason"].startswith("shop/4, 200 answers since 2026-03-01")
    assert document["series"][0]["finding"] == "worse"
