"""Sequential evidence that a mean reward fell below a reference, with a known rate of false alarms.

For each possible first day of a fall, a gambler starts with one coin and bets a part of the fortune that each answer
falls short of a mean m: a reward x multiplies it by 1 + stake * (m - x). While the mean is m or more, no stake wins on
average (Waudby-Smith and Ramdas, 2023, "Estimating means of bounded random variables by betting"). The value of m is
known only from the reference: each m below it has a p-value by Student's t, and multiplies the fortune against it by
.15 p^-.85 (Vovk and Wang, 2021, "E-values: calibration, combination and applications"). The m with the smallest fortune
counts, less a tolerance, which is no drift.

The sum of the fortunes of all first days, a Shiryaev-Roberts e-detector, grows by one coin a day at most on average. So
it reaches N coins within T days with a probability of T / N at most, and after N / 2 days or more on average (Shin,
Ramdas and Rinaldo, 2023, "E-detectors"). That holds for one growing sequence of days. A deployment looks each day at
the last days, for which it is no theorem: `python -m benchmarks.monitor --only runs` simulates its rate of alarms.

A day's answers are not independent if a campaign or a batch of similar prompts produced them, so a day is worth
`DAY_ANSWERS` answers at most, however many there are (a power of 1 or less of an e-value is one too).

An evaluation of 15 prompts per task can be lucky by more than the fall to detect. So for a fall that may have begun on
some day, the reference is the evaluation's mean and the mean of all production days before that day, weighted by their
precision. Earlier days never raise it: a model that was better than its evaluation, and then equals it, does not drift.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.stats import t as student

from tasks.monitor.series import Numbers, RewardCounts, freedom, standard_error

STAKES: Final = np.array([0.08, 0.2, 0.4, 0.7, 0.95])
"""The gambler's coin is split equally among these, so that one is near the best for small and for large falls."""
DAY_ANSWERS: Final = 1000
_CALIBRATION: Final = 0.15
_MEANS: Final = np.arange(1001) / 1000
"""The means that are bet against: each is rounded down to one of these."""
_LEVELS: Final = 32
"""Number of the reference's p-values searched for the smallest fortune; between two, the smaller value of both is
used."""
_MAX_FREEDOM: Final = 1000


@dataclass(frozen=True)
class Promise:
    """Evaluation results by task: means in [0, 1], their standard errors, and these errors' degrees of freedom."""

    mean: Numbers
    error: Numbers
    freedom: Numbers


@dataclass(frozen=True)
class MixedMean:
    """Mean over the tasks in the mix of each day; shape (possible first days of a fall, days)."""

    mean: Numbers
    error: Numbers
    freedom: Numbers


def reference_of(promise: Promise, rewards: RewardCounts) -> MixedMean:
    """Combine the evaluation and the days before each first day; each day has an answer."""
    answers = rewards.answers
    mix = answers / answers.sum(axis=0)
    count, total, squares = (np.cumsum(each, axis=1) - each for each in (answers, rewards.total, rewards.squares))
    evaluated = promise.mean @ mix
    evaluated_variance, evaluated_freedom = _of_mix(promise.error[:, None] ** 2, promise.freedom[:, None], mix)
    shown = (total / np.maximum(count, 1)).T @ mix
    shown_variance, shown_freedom = _of_mix(standard_error(count, total, squares) ** 2, freedom(count), mix)
    weight = evaluated_variance / (evaluated_variance + shown_variance)
    variance = evaluated_variance * (1 - weight)
    # For a task without earlier answers the variance is infinite and the weight 0, and the product is taken as 0.
    of_shown = np.where(weight > 0, weight**2 * np.where(weight > 0, shown_variance, 0.0), 0.0)
    parts = ((1 - weight) ** 2 * evaluated_variance) ** 2 / evaluated_freedom + of_shown**2 / shown_freedom
    return MixedMean(
        mean=evaluated + weight * np.minimum(shown - evaluated, 0.0),
        error=np.sqrt(variance),
        freedom=variance**2 / parts,
    )


def _of_mix(variance: Numbers, degrees: Numbers, mix: Numbers) -> tuple[Numbers, Numbers]:
    """Return the variance of means over tasks and its degrees of freedom (Satterthwaite, 1946).

    `variance` and `degrees` have the shape (tasks, estimates), `mix` (tasks, days), both results (estimates, days). For
    an infinite variance the degrees of freedom are 1.
    """
    known = np.isfinite(variance)
    finite = np.where(known, variance, 0.0)
    total = finite.T @ mix**2
    unknown = (~known).astype(float).T @ mix > 0
    degrees_of_total = total**2 / np.maximum((finite**2 / degrees).T @ mix**4, np.finfo(float).tiny)
    return np.where(unknown, np.inf, total), np.where(unknown, 1.0, degrees_of_total)


def evidence_against(promise: Promise, rewards: RewardCounts, tolerance: float, log_enough: float) -> Numbers:
    """Return the log fortunes against the baseline of some tasks together, cut off far above `log_enough`.

    The shape is (first days, days): minus infinity where the first day is later. The sum over the first days is the
    evidence at the end of a day.
    """
    days = len(rewards.days)
    reference = reference_of(promise, rewards)
    # A reference off by more than this would be an alarm by its chance alone.
    log_p = np.linspace(np.log(0.5), -(log_enough + 2) / (1 - _CALIBRATION), _LEVELS)
    distances = _distances(np.exp(log_p), reference.freedom)
    answers = rewards.answers
    promised = promise.mean @ answers / answers.sum(axis=0)
    # Shape (first days, days, levels): distance of the mean that is bet against below the baseline.
    lowered = (promised - reference.mean)[..., None] + reference.error[..., None] * distances + tolerance
    growth = _log_growth(promise, rewards, lowered)
    before = np.arange(days)[:, None] > np.arange(days)
    growth[:, before] = 0.0
    by_stake = growth.cumsum(axis=2)
    highest = by_stake.max(axis=0)
    fortunes = highest + np.log(np.exp(by_stake - highest).mean(axis=0))
    log_calibrated = np.log(_CALIBRATION) - (1 - _CALIBRATION) * np.concatenate([[0.0], log_p[:-1]])
    return np.where(before, -np.inf, (fortunes + log_calibrated).min(axis=2))


def _distances(p: Numbers, freedom: Numbers) -> Numbers:
    """Return the number of standard errors exceeded with each probability, shape of the freedom and then of p."""
    whole = np.clip(np.floor(freedom), 1, _MAX_FREEDOM)
    values, which = np.unique(whole, return_inverse=True)
    return np.asarray(student.isf(p, values[:, None])[which.reshape(whole.shape)])


def _log_growth(promise: Promise, rewards: RewardCounts, lowered: Numbers) -> Numbers:
    """Return the logarithm of each stake's growth on each day, shape of the stakes and then of `lowered`."""
    # Shape (stakes, means, rewards), then for each task (stakes, means, days).
    by_answer = np.log1p(STAKES[:, None, None] * (_MEANS[:, None] - rewards.rewards))
    days = np.arange(len(rewards.days))[:, None]
    growth: Numbers = np.zeros((len(STAKES), *lowered.shape))
    for task, mean in enumerate(promise.mean):
        by_day = by_answer @ rewards.counts[task].T
        step = np.floor(np.clip(mean - lowered, 0.0, 1.0) * (len(_MEANS) - 1)).astype(np.intp)
        growth += by_day[:, step, days]
    return np.asarray(growth * np.minimum(1.0, DAY_ANSWERS / rewards.answers.sum(axis=0))[:, None])
