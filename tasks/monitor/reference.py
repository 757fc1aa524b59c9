"""Reference of the drift test: the evaluation's mean, refined by earlier production days.

An evaluation of 15 prompts per task can be lucky by more than the fall to detect. But each production day at the
baseline confirms it by hundreds of answers. So for a fall that may have begun on some day, the reference is the
evaluation's mean and the mean of all days before that day, weighted by their precision. Earlier days never raise it: a
model that was better than its evaluation, and then equals it, does not drift.
"""

from dataclasses import dataclass

import numpy as np

from tasks.monitor.mean_error import Numbers, freedom, standard_error
from tasks.monitor.reward_counts import RewardCounts


@dataclass(frozen=True)
class Promise:
    """Evaluation results, by task in the order of the counts."""

    mean: Numbers
    """Mean reward, in [0, 1]."""
    error: Numbers
    """Its standard error."""
    freedom: Numbers
    """The error's degrees of freedom."""


@dataclass(frozen=True)
class MixedMean:
    """Mean over the tasks in the mix of each day; shape (possible first days of a fall, days)."""

    mean: Numbers
    error: Numbers
    freedom: Numbers


def reference_of(promise: Promise, rewards: RewardCounts) -> MixedMean:
    """Combine the evaluation and the days before each first day.

    Args:
        promise: The evaluation's results.
        rewards: Production rewards of the same tasks; each day has an answer.
    """
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

    Args:
        variance: Of each task's mean, shape (tasks, estimates); it may be infinite.
        degrees: Its degrees of freedom, the same shape.
        mix: Each task's share, shape (tasks, days).

    Returns:
        Both of shape (estimates, days); for an infinite variance the degrees of freedom are 1.
    """
    known = np.isfinite(variance)
    finite = np.where(known, variance, 0.0)
    total = finite.T @ mix**2
    unknown = (~known).astype(float).T @ mix > 0
    degrees_of_total = total**2 / np.maximum((finite**2 / degrees).T @ mix**4, np.finfo(float).tiny)
    return np.where(unknown, np.inf, total), np.where(unknown, 1.0, degrees_of_total)
