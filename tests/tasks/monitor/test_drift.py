"""Drift: found where it is, dated, distinguished from luck, from better days and from another mix of tasks."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest

from schemas.config.serve import MonitorConfig
from schemas.tasks import TASK_NAMES
from tasks.monitor.detector import Promise, evidence_against
from tasks.monitor.drift import FALLEN, Compared, Drift, DriftSeries, find_drift
from tasks.monitor.series import ALL, Baseline, RewardCounts, count_rewards
from tests.tasks.monitor.reward_days import baseline, counts, day

CONFIG = MonitorConfig()
BESIDE = [measure for measure in FALLEN if measure not in ("reward", "form")]
TASKS = ("extraction", "sql_qa", "push")
KEPT = {task: [0.6] * 10 for task in TASKS}


def found(
    means: Mapping[str, Sequence[float | None]], error: float = 0.01, prompts: int = 240, answers: int = 120
) -> Drift:
    baselines = {task: baseline(task, error=error, prompts=prompts) for task in TASKS}
    return find_drift(counts(means, answers), baselines, CONFIG)


def series(drift: Drift, name: str) -> DriftSeries:
    return next(each for each in drift.series if each.name == name)


def test_a_promise_that_is_kept_is_no_drift() -> None:
    drift = found(KEPT)
    assert not drift.found
    assert drift.reasons() == []
    assert [each.name for each in drift.series] == [ALL, *TASKS]
    assert all(value < 0.1 for each in drift.series for value in each.evidence)


def test_a_fall_of_everything_is_found_dated_and_measured() -> None:
    drift = found({task: [0.6] * 6 + [0.5] * 4 for task in TASKS}, answers=360)
    together = series(drift, ALL)
    assert together.alarm is not None
    assert day(6) <= together.alarm <= day(8)
    assert together.began == day(6)
    assert together.loss == pytest.approx(0.10, abs=0.005)
    assert together.mean[-1] == pytest.approx(0.5, abs=0.001)
    assert together.promised[-1] == pytest.approx(0.6)
    assert drift.reasons()[0].startswith(
        f"all tasks together: reward 0.100 below what the evaluation measured, on {day(6)}"
    )


def test_a_loss_within_the_tolerance_is_no_drift() -> None:
    assert not found({task: [0.585] * 30 for task in TASKS}).found


@pytest.mark.parametrize("tasks", (1, 3, 6))
def test_the_false_alarms_of_all_series_stay_within_the_stated_rate(tasks: int) -> None:
    """A series that takes N coins to an alarm has one in N / 2 days, by `tasks.monitor.detector`."""
    names, days, exactly = TASK_NAMES[:tasks], CONFIG.days_between_false_alarms, 1e-12
    rewards = counts({task: [0.55] for task in names}, answers=12)
    baselines: Mapping[str, Baseline] = {task: baseline(task, error=exactly) for task in names}
    beside = {measure: Compared(rewards, baselines) for measure in BESIDE}

    def rate(of: DriftSeries) -> float:
        group = list(range(tasks)) if of.name == ALL else [names.index(of.name)]
        promise = Promise(*(np.full(len(group), value) for value in (0.6, exactly, 243.0)))
        # On the first day, against a mean that is known, the fortune does not depend on the threshold.
        fortune = evidence_against(promise, rewards.of(group), CONFIG.tolerance, log_enough=0.0).log_sums[0]
        return 2 * of.evidence[0] / float(np.exp(fortune))

    drift = find_drift(rewards, baselines, CONFIG, beside=beside)
    rates = {(each.measure, each.name): rate(each) for each in drift.series}
    assert sum(rates.values()) == pytest.approx(0.9 / days)
    # Half is for the reward, a tenth for each other measure; half of a measure's is for all tasks together.
    of_reward = [found for (measure, _), found in rates.items() if measure == "reward"]
    together = [0.25] if tasks > 1 else []
    assert of_reward == pytest.approx([share / days for share in [*together, *[(0.5 - sum(together)) / tasks] * tasks]])
    beside_it = [rates[measure, names[0]] for measure in BESIDE]
    assert beside_it == pytest.approx([of_reward[-1] / 5] * len(BESIDE))


def pushes(*rewards: Sequence[float]) -> RewardCounts:
    """Return days of these rewards."""
    rows = [("push", day(number), reward) for number, each in enumerate(rewards) for reward in each]
    return count_rewards(pl.DataFrame(rows, ["task", "day", "reward"], orient="row"), ["push"])


def test_the_floor_is_asked_of_days_with_enough_answers_where_the_promise_is_above_it() -> None:
    drift = find_drift(pushes([0.2] * 29, [0.2] * 30), {"push": baseline("push", 0.6)}, CONFIG)
    (alarm,) = drift.floor
    assert (alarm.task, alarm.day, alarm.answers) == ("push", day(1), 30)
    assert alarm.mean == pytest.approx(0.2)
    assert drift.found
    # The evidence says the same, once.
    assert drift.reasons() == [
        f"push: reward 0.400 below what the evaluation measured, since {day(0)}, found on {day(1)}"
    ]
