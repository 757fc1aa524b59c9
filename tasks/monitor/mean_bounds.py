"""Bounds of a mean that hold at every daily look at once.

A gambler bets that the mean of values in [0, 1] is above m: a value x multiplies a coin by 1 + stake * (x - m) / m, for
a stake of at most 1. While the mean is m or less no such bet wins on average, whatever the values' distribution. So the
chance that one coin ever becomes N coins is 1 / N at most, at whatever days one looks (Ville's inequality), and each m
against which it did is below the mean, but for that chance (Waudby-Smith and Ramdas, 2023, "Estimating means of bounded
random variables by betting"; of differences of pairs, Shekhar and Ramdas, 2023, "Nonparametric two-sample testing by
betting"). The coin is split among stakes that are chosen beforehand, as `tasks.monitor.evidence` does, and a day counts
as `DAY_ANSWERS` values at most.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from tasks.monitor.evidence import DAY_ANSWERS, STAKES
from tasks.monitor.mean_error import Numbers

_STEPS: Final = 14
"""Halvings of the range in which a bound is searched: it is found to 1/8000, on the safe side."""
_FEWEST: Final = 30
"""Fewest values by which the number of further ones is estimated."""
_MOST_NEEDED: Final = 1_000_000


@dataclass(frozen=True)
class DailyValues:
    """Values in [-1, 1] in the order of their days; one or more."""

    values: Numbers
    starts: NDArray[np.intp]
    """Position of each day's first value."""

    @property
    def _weights(self) -> Numbers:
        sizes = np.diff([*self.starts, len(self.values)])
        return np.repeat(np.minimum(1.0, DAY_ANSWERS / sizes), sizes)

    def log_growth(self, mean: float, *, above: bool) -> Numbers:
        """Return the logarithm of each stake's growth by each value, shape (stakes, values).

        Args:
            mean: In (-1, 1).
            above: Whether the bet is that the mean is above that one; otherwise, that it is below.
        """
        off, most = (self.values - mean, 1 + mean) if above else (mean - self.values, 1 - mean)
        return np.asarray(np.log1p(STAKES[:, None] * (off / most)) * self._weights)

    def most_coins(self, mean: float, *, above: bool) -> float:
        """Return the logarithm of the largest fortune at the end of any day."""
        by_day = np.add.reduceat(self.log_growth(mean, above=above), self.starts, axis=1).cumsum(axis=1)
        return float(logsumexp(by_day, axis=0).max() - math.log(len(STAKES)))


def mean_bounds(daily: DailyValues, chance: float) -> tuple[float, float]:
    """Return the lower and the upper bound of the mean, in [-1, 1].

    Args:
        daily: The values.
        chance: That a bound is ever wrong, at most; of each of both.
    """
    enough = -math.log(chance)
    return _farthest(daily, enough, above=True), _farthest(daily, enough, above=False)


def _farthest(daily: DailyValues, enough: float, *, above: bool) -> float:
    """Return the mean farthest from the end of the range against which the bets won enough."""
    won, open_ = (-1.0, 1.0) if above else (1.0, -1.0)
    for _ in range(_STEPS):
        middle = (won + open_) / 2
        # The farther the mean, the worse the bets.
        if daily.most_coins(middle, above=above) >= enough:
            won = middle
        else:
            open_ = middle
    return won


def values_needed(daily: DailyValues, mean: float, chance: float) -> int | None:
    """Estimate how many more values show on which side of a mean theirs is, if they go on as they were.

    Args:
        daily: The values so far, which have not shown it.
        mean: In (-1, 1).
        chance: That a bound is ever wrong, at most.

    Returns:
        The number; None where these are too few, or too near, to say.
    """
    count = len(daily.values)
    growth = daily.log_growth(mean, above=bool(daily.values.mean() > mean)).mean(axis=1).max()
    if count < _FEWEST or growth <= 0:
        return None
    # The best stake has its part of the coin alone.
    needed = math.ceil((math.log(len(STAKES)) - math.log(chance)) / growth) - count
    return max(1, needed) if needed <= _MOST_NEEDED else None
