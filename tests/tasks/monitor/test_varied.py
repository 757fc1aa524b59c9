from collections.abc import Callable
from datetime import date, timedelta

import polars as pl

from schemas.config.monitor import MonitorConfig
from tasks.monitor.drift import DriftSeries, find_drift
from tasks.monitor.reward_counts import count_rewards
from tasks.monitor.varied import LEAST, compared_variety

DAY = date(2026, 3, 1)
KINDS = ("positive 5", "positive 4", "negative 1", "neutral 3", "negative 2")


def varied_by_kind(number: int) -> str:
    return KINDS[number * 7 % 5]


def answers(days: int, each: int, said: Callable[[int], str], prompts: int = 1_000_000) -> pl.DataFrame:
    rows = [
        (DAY + timedelta(day), "sentiment", f"Avaliação {(day * each + number) % prompts}", said(number))
        for day in range(days)
        for number in range(each)
    ]
    return pl.DataFrame(rows, ["day", "task", "prompt", "completion"], orient="row")


TESTED = answers(1, 60, varied_by_kind).drop("day")


def variety(logged: pl.DataFrame) -> DriftSeries:
    """Return the evidence of a collapse, beside rewards that show none."""
    compared = compared_variety(logged, TESTED)
    assert compared is not None
    perfect = count_rewards(logged.with_columns(reward=pl.lit(1.0)), ["sentiment"])
    drift = find_drift(perfect, {}, MonitorConfig(), beside={"varied": compared})
    (series,) = drift.series
    return series


def test_one_answer_to_every_prompt_is_an_alarm() -> None:
    series = variety(pl.concat([answers(5, 120, varied_by_kind), answers(10, 120, lambda _: "Neutral  3")]))
    assert series.alarm is not None
    assert series.alarm > DAY + timedelta(5)
    assert series.measure == "varied"
    assert "the same far more often" in series.loss_in_words


def test_answers_that_differ_in_form_alone_are_the_same() -> None:
    forms = ('{"A": "b"}', ' {"a":"B",}', "a b")
    compared = compared_variety(answers(1, 40, lambda number: forms[number % 3]), TESTED)
    assert compared is not None
    assert compared.counts.total.sum() == 0


def test_mostly_happy_reviews_are_none() -> None:
    logged = answers(30, 120, lambda number: KINDS[0] if number % 5 else varied_by_kind(number // 5))
    assert variety(logged).alarm is None


def test_a_prompt_that_is_asked_often_counts_once_a_day() -> None:
    compared = compared_variety(answers(1, 500, lambda _: "positive 5", prompts=3), TESTED)
    assert compared is not None
    assert compared.counts.answers.sum() == 1


def test_only_a_quarter_of_the_evaluations_variety_is_promised() -> None:
    compared = compared_variety(answers(1, 40, varied_by_kind), TESTED)
    assert compared is not None
    promised = compared.baselines["sentiment"]
    assert promised.prompts == 30
    assert 0.5 * LEAST < promised.mean < LEAST


def test_a_task_that_is_asked_one_prompt_a_day_is_not_compared() -> None:
    assert compared_variety(answers(9, 1, varied_by_kind), TESTED) is None


def test_a_champion_that_always_gave_one_answer_has_no_variety_to_lose() -> None:
    constant = TESTED.with_columns(completion=pl.lit("positive 5"))
    compared = compared_variety(answers(9, 40, lambda _: "positive 5"), constant)
    assert compared is not None
    assert compared.baselines["sentiment"].mean == 0
