"""Membership test: surer of a row than of all others is 1, as sure is a half, and the interval is the rows'."""

import pytest

from benchmarks.forget.membership import auc


@pytest.mark.parametrize(
    ("pairs", "value"),
    [
        ([(0.1, [0.2, 0.3]), (0.5, [0.6])], 1.0),
        ([(0.9, [0.2, 0.3])], 0.0),
        ([(0.2, [0.2, 0.2])], 0.5),
        ([(0.1, [0.2]), (0.3, [0.2])], 0.5),
    ],
)
def test_it_is_the_share_of_others_that_the_model_is_less_sure_of(
    pairs: list[tuple[float, list[float]]], value: float
) -> None:
    found = auc(pairs, 200, 1)
    assert found.value == value
    assert found.low <= value <= found.high


def test_rows_that_disagree_leave_it_open() -> None:
    found = auc([(float(place % 2), [0.5]) for place in range(20)], 500, 1)
    assert found.low < 0.5 < found.high
    assert found == auc([(float(place % 2), [0.5]) for place in range(20)], 500, 1)
