"""Bounds that hold at every look: no bet wins on average where it should not, and they close in on the mean."""

from itertools import product

import numpy as np
import pytest

from tasks.monitor.evidence import DAY_ANSWERS
from tasks.monitor.mean_bounds import DailyValues, mean_bounds, values_needed

CHANCE = 0.025


def daily(values: list[float], each: int = 1) -> DailyValues:
    return DailyValues(np.array(values), np.arange(0, len(values), each))


def drawn(mean: float, count: int, each: int = 50, seed: int = 1) -> DailyValues:
    values = np.clip(np.random.default_rng(seed).normal(mean, 0.2, count), -1, 1)
    return DailyValues(values, np.arange(0, count, each))


@pytest.mark.parametrize("mean", [-0.9, -0.02, 0.5])
@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("each", [1, 2])
def test_where_the_mean_is_that_one_no_coin_grows_on_average(mean: float, above: bool, each: int) -> None:
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


def test_what_was_shown_once_stays_shown() -> None:
    values = drawn(0.1, 2_000).values
    bounds = [
        mean_bounds(DailyValues(values[:count], np.arange(0, count, 50)), CHANCE) for count in range(50, 2_001, 150)
    ]
    lows, highs = zip(*bounds, strict=True)
    assert list(lows) == sorted(lows)
    assert list(highs) == sorted(highs, reverse=True)


def test_the_lower_bound_is_the_upper_one_of_the_other_signs() -> None:
    found = drawn(0.05, 500)
    low, high = mean_bounds(found, CHANCE)
    assert mean_bounds(DailyValues(-found.values, found.starts), CHANCE) == (-high, -low)


def test_a_smaller_chance_of_being_wrong_gives_wider_bounds() -> None:
    low, high = mean_bounds(drawn(0.1, 500), CHANCE)
    lower, higher = mean_bounds(drawn(0.1, 500), CHANCE / 10)
    assert lower < low < high < higher


def test_a_day_counts_as_a_thousand_values_at_most() -> None:
    def width(days: int, each: int) -> float:
        low, high = mean_bounds(daily([0.3, -0.1] * (days * each // 2), each), CHANCE)
        return high - low

    assert width(1, DAY_ANSWERS * 8) == pytest.approx(width(1, DAY_ANSWERS))
    assert width(8, DAY_ANSWERS) < width(1, DAY_ANSWERS)


def test_few_values_bound_nothing_and_none_fail() -> None:
    for values in ([0.0], [1.0], [-1.0], [1.0, -1.0]):
        low, high = mean_bounds(daily(values), CHANCE)
        assert -1 <= low < high <= 1
        assert high - low > 0.5


def test_as_many_values_as_were_said_to_be_needed_are_about_enough() -> None:
    for mean, border in ((0.1, 0.06), (0.0, 0.04)):
        pair = [mean + 0.2, mean - 0.2]
        needed = values_needed(daily(pair * 50, 2), border, CHANCE)
        assert needed is not None
        low, high = mean_bounds(daily(pair * ((100 + needed) // 2 + 1), 2), CHANCE)
        assert low > border if mean > border else high < border
        low, high = mean_bounds(daily(pair * ((100 + needed // 2) // 2), 2), CHANCE)
        assert low < border < high


def test_how_many_it_takes_is_not_guessed_from_few_or_where_the_mean_is_at_the_border() -> None:
    assert values_needed(drawn(0.1, 29), 0.0, CHANCE) is None
    assert values_needed(daily([0.2, -0.2] * 50), 0.0, CHANCE) is None
