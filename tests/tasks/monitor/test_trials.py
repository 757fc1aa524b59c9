"""Challengers beside the champion: which answers are compared, how, and what follows."""

from datetime import UTC, date, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import pytest

from schemas.config.monitor import MonitorConfig
from schemas.tables.log_file import log_files
from schemas.tasks import TASK_NAMES
from tasks.monitor.detector import DAY_ANSWERS
from tasks.monitor.logs import Logs, read_logs
from tasks.monitor.trials import (
    ERROR,
    ChallengerTrial,
    DailyValues,
    differences,
    find_trials,
    mean_bounds,
)
from tasks.serve.gateway.answer_log import DailyFile, Role, ServedAnswer
from tests.tasks.monitor.logged import NOW, answer, write_log

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
    assert "may grow; challenger less champion: all tasks together" in later.reason()
    assert later.series[0].low > -TOLERANCE
    # A loss within the tolerance is none.
    assert trial(shadowed(-0.01, 60)).verdict == "may grow"


def test_one_that_is_worse_must_go_soon() -> None:
    found = trial(shadowed(-0.1, 2))
    assert found.verdict == "must go"
    assert "must go; challenger less champion: all tasks together −0.0" in found.reason()


def test_one_task_that_is_worse_is_enough_to_go_and_is_named() -> None:
    better: dict[str, float] = {task: 0.05 for task in TASK_NAMES if task != "churn"}
    found = trial(of_tasks({**better, "churn": -0.1}, days=3))
    assert found.series[0].finding == "no worse"
    assert [each.name for each in found.series if each.finding == "worse"] == ["churn"]
    assert found.verdict == "must go"
    assert "churn −0.1" in found.reason()
    assert "push" not in found.reason()


def test_an_undecided_one_says_what_it_would_take() -> None:
    found = trial(shadowed(0.0, 1))
    (whole, _) = found.series
    assert whole.finding == "undecided"
    assert whole.needed is not None
    more = round(whole.needed, 1 - len(str(whole.needed)) + 1)
    assert f"about {more:,} more answers decide" in found.reason()
    worse = trial(shadowed(-0.06, 1, each=40))
    assert "more answers decide" in worse.reason()
    few = trial(shadowed(0.0, 1, each=5))
    assert few.series[0].needed is None
    assert "more answers" not in few.reason()


DAY: Final = date(2026, 3, 10)
SCHEMA: Final = {
    "day": pl.Date,
    "task": pl.String,
    "challenger": pl.String,
    "role": pl.String,
    "shadow_of": pl.UInt32,
    "reward": pl.Float64,
}


def scored(*rows: tuple[Any, ...]) -> pl.DataFrame:
    """Return answers by time: day, task, role (c, s, or - for the champion), the number shadowed, reward."""
    roles = {"c": "challenger", "s": "shadow", "-": "champion"}
    found = [
        (DAY + timedelta(day), task, None if role == "-" else "shop/4", roles[role], of, reward)
        for day, task, role, of, reward in rows
    ]
    begin = datetime(2026, 3, 10, tzinfo=UTC)
    times = [begin + timedelta(minutes=number) for number in range(len(rows))]
    table = pl.DataFrame(found, schema=SCHEMA, orient="row").with_row_index("answer")
    return table.with_columns(pl.Series("time", times, pl.Datetime("us", "UTC")))


def found(*rows: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    kept = differences(scored(*rows), "shop/4").select("task", "difference", "answers").rows()
    return [(task, pytest.approx(difference), answers) for task, difference, answers in kept]


def test_a_shadow_is_compared_with_its_own_request() -> None:
    rows = [
        (0, "push", "-", None, 0.9),
        (0, "push", "-", None, 0.2),
        (0, "push", "s", 1, 0.3),
        (0, "push", "s", 0, 0.8),
    ]
    assert found(*rows) == [("push", 0.1, 1), ("push", -0.1, 1)]


def test_a_share_is_compared_as_it_came_each_answer_once() -> None:
    few = [(0, "push", "-", None, 0.2), (0, "push", "-", None, 0.4), (0, "push", "c", None, 0.5)]
    assert found(*few, (0, "push", "-", None, 1.0), (0, "push", "c", None, 0.0)) == [
        ("push", 0.2, 1),
        ("push", -1.0, 1),
    ]
    # So it is where the challenger answers more.
    many = [(0, "push", "c", None, 0.2), (0, "push", "c", None, 0.4), (0, "push", "-", None, 0.5)]
    assert found(*many) == [("push", -0.2, 2)]


CHAMPION = ("shop/3", "shop@champion")


def look(folder: Path, *answers: dict[str, Any], promoted_days_ago: float = 90, **config: Any) -> Logs:
    found = log_files(write_log(folder / "log.jsonl", answers))
    since = NOW - timedelta(days=promoted_days_ago)
    return read_logs(found, found.digests(), MonitorConfig(**config), CHAMPION, since, NOW)


def champions(request: str, **values: Any) -> dict[str, Any]:
    return answer(request_id=request, model_version="shop/3", role="champion", **values)


def challengers(request: str, version: str = "shop/4", **values: Any) -> dict[str, Any]:
    return answer(request_id=request, model_version=version, **{"role": "challenger", **values})


def shadows(request: str, of: str | None, **values: Any) -> dict[str, Any]:
    return challengers(request, role="shadow", shadow_of=of, **values)


def test_a_shadow_is_beside_the_answer_to_the_same_request_and_no_other(tmp_path: Path) -> None:
    trial = look(
        tmp_path,
        champions("a", days_ago=0.3),
        champions("b", days_ago=0.2),
        shadows("c", "b", days_ago=0.1),
        shadows("d", "of nobody"),
        shadows("e", None),
    ).trials
    assert trial.select("challenger", "answer", "shadow_of").rows() == [
        (None, 0, None),
        ("shop/4", 1, 0),
        ("shop/4", 2, None),
        ("shop/4", 3, None),
    ]
    assert "request_id" not in trial.columns


def test_the_gateways_own_lines_are_read(tmp_path: Path) -> None:
    def line(role: Role, version: str, request: str, of: str | None) -> ServedAnswer:
        made: dict[str, Any] = answer(request_id=request, model_version=version, shadow_of=of)
        return ServedAnswer(**made, role=role, valid=True, checked=True, reason=None, shown="x", guided=False, tokens=9)

    log = DailyFile(tmp_path, days=9)
    for each in (line("champion", "shop/3", "a", None), line("shadow", "shop/4", "b", "a")):
        log.append(each, NOW)
    log.close()
    found = log_files(tmp_path)
    trial = read_logs(found, found.digests(), MonitorConfig(), CHAMPION, None, NOW).trials
    assert trial.select("role", "shadow_of").rows() == [("champion", None), ("shadow", 0)]


def test_a_trial_goes_on_beyond_the_days_that_drift_looks_at_and_begins_with_the_champion(tmp_path: Path) -> None:
    pair = [(champions(f"a{day}", days_ago=day), shadows(f"b{day}", f"a{day}", days_ago=day)) for day in (0, 20, 40)]
    logs = look(tmp_path, *(row for both in pair for row in both), promoted_days_ago=30, days=7)
    assert (logs.table.height, logs.trials.height) == (1, 4)


CHANCE = 0.025


def daily(values: list[float], each: int = 1) -> DailyValues:
    return DailyValues(np.array(values), np.arange(0, len(values), each))


def drawn(mean: float, count: int, each: int = 50, seed: int = 1) -> DailyValues:
    values = np.clip(np.random.default_rng(seed).normal(mean, 0.2, count), -1, 1)
    return DailyValues(values, np.arange(0, count, each))


@pytest.mark.parametrize("mean", [-0.9, -0.02, 0.5])
@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("each", [1, 2])
def test_no_coin_grows_on_average_at_the_true_mean(mean: float, above: bool, each: int) -> None:
    # All courses of four values, -1 or 1.
    chances = {1.0: (1 + mean) / 2, -1.0: (1 - mean) / 2}
    coins = 0.0
    for course in product(chances, repeat=4):
        growth = daily(list(course), each).log_growth(mean, above=above).sum(axis=1)
        coins += np.prod([chances[value] for value in course]) * np.exp(growth).mean()
    assert coins == pytest.approx(1.0)


def test_the_bounds_hold_the_mean_and_close_in_on_it() -> None:
    widths = []
    for count in (50, 500, 5_000):
        found = drawn(0.1, count)
        low, high = mean_bounds(found, CHANCE)
        assert low < 0.1 < high
        assert low < found.values.mean() < high
        widths.append(high - low)
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


def test_a_day_counts_as_a_thousand_values_at_most() -> None:
    def width(days: int, each: int) -> float:
        low, high = mean_bounds(daily([0.3, -0.1] * (days * each // 2), each), CHANCE)
        return high - low

    assert width(1, DAY_ANSWERS * 8) == pytest.approx(width(1, DAY_ANSWERS))
    assert width(8, DAY_ANSWERS) < width(1, DAY_ANSWERS)


def test_the_stated_error_is_split_alike_however_many_tasks_were_asked() -> None:
    scored = shadowed(0.0, 3)
    values = scored.filter(pl.col("role") == "shadow")["reward"] - scored.filter(pl.col("role") == "champion")["reward"]
    daily = DailyValues(values.to_numpy(), np.array([0, 100, 200]))
    whole, push = trial(scored).series
    assert (whole.low, whole.high) == mean_bounds(daily, ERROR / 2)
    assert (push.low, push.high) == mean_bounds(daily, ERROR / 2 / len(TASK_NAMES))
