"""Differences: of one request where there is one, of the answers as they came elsewhere, and no answer twice."""

from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import polars as pl
import pytest

from tasks.monitor.paired import differences

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


def test_a_shadow_without_its_request_and_a_second_one_of_it_count_nothing() -> None:
    rows = [
        (0, "push", "-", None, 0.5),
        (0, "push", "s", None, 1.0),
        (0, "push", "s", 0, 0.6),
        (0, "push", "s", 0, 0.9),
    ]
    assert found(*rows) == [("push", 0.1, 1)]


def test_a_share_is_compared_as_it_came_each_answer_once() -> None:
    few = [(0, "push", "-", None, 0.2), (0, "push", "-", None, 0.4), (0, "push", "c", None, 0.5)]
    assert found(*few, (0, "push", "-", None, 1.0), (0, "push", "c", None, 0.0)) == [
        ("push", 0.2, 1),
        ("push", -1.0, 1),
    ]
    # So it is where the challenger answers more.
    many = [(0, "push", "c", None, 0.2), (0, "push", "c", None, 0.4), (0, "push", "-", None, 0.5)]
    assert found(*many) == [("push", -0.2, 2)]


def test_neither_tasks_nor_days_are_mixed() -> None:
    rows = [(0, "push", "-", None, 1.0), (0, "churn", "c", None, 0.0), (1, "push", "c", None, 0.0)]
    assert found(*rows) == []
    assert found(*rows, (1, "push", "-", None, 0.5)) == [("push", -0.5, 1)]


def test_later_answers_change_no_earlier_difference() -> None:
    rows = [(number // 7, "push", "-c-"[number % 3], None, number % 5 / 4) for number in range(20)]
    whole = found(*rows)
    for count in range(len(rows)):
        part = found(*rows[:count])
        assert part == whole[: len(part)]


def test_an_answer_beside_a_shadow_is_beside_no_challenger_too() -> None:
    # The trial went from shadow to share within the day.
    rows = [
        (0, "push", "-", None, 0.0),
        (0, "push", "s", 0, 0.0),
        (0, "push", "-", None, 0.5),
        (0, "push", "c", None, 0.7),
    ]
    assert found(*rows) == [("push", 0.0, 1), ("push", 0.2, 1)]
