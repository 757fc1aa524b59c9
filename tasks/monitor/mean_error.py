"""Standard error of a mean reward, also for few answers, and for skewed and tied rewards.

The usual standard error of a few rewards that happen to be equal is 0, as if the mean were known exactly. So two
answers of reward 0 and two of reward 1 are added before the spread is computed (Agresti and Coull, 1998, "Approximate
is better than exact", whose interval for shares this is), and Student's t is used. By simulation (`benchmarks.monitor`)
its 95 % intervals contain the mean of skewed rewards on 95 to 100 % of all days, from 5 answers on, where Student's t
alone does so on as few as 78 %.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

ADDED: Final = 4
"""Number of added answers: half of them 0, half of them 1."""


def standard_error(count: Numbers, total: Numbers, squares: Numbers) -> Numbers:
    """Return the standard error of means of values in [0, 1], never 0; infinite without values.

    Args:
        count: Number of values behind each mean.
        total: Their sum.
        squares: The sum of their squares.
    """
    n = count + ADDED
    mean = (total + ADDED / 2) / n
    variance = np.maximum((squares + ADDED / 2 - n * mean**2) / (n - 1), 0.0)
    return np.where(count > 0, np.sqrt(variance / n), np.inf)


def freedom(count: Numbers) -> Numbers:
    """Return the degrees of freedom of such standard errors."""
    return count + ADDED - 1


def interval(count: Numbers, total: Numbers, squares: Numbers, level: float = 0.95) -> tuple[Numbers, Numbers]:
    """Return two-sided intervals for the means of values in [0, 1], one value or more each; each contains its mean."""
    from scipy.stats import t

    n = count + ADDED
    centre = (total + ADDED / 2) / n
    half = t.ppf((1 + level) / 2, freedom(count)) * standard_error(count, total, squares)
    mean = total / count
    return np.clip(np.minimum(centre - half, mean), 0.0, 1.0), np.clip(np.maximum(centre + half, mean), 0.0, 1.0)
