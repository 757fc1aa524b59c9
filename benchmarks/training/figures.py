"""Figures of the training benchmark: intervals of paired differences, and the step where a curve reaches a reward."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.training.arms import Outcome

RESAMPLES: Final = 10_000
RESAMPLING_SEED: Final = 0
LEVEL: Final = 0.95
Figure = Literal["reward", "truth"]
FIGURES: Final[Mapping[Figure, str]] = {"reward": "test reward", "truth": "ground truth"}
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """A mean difference with its 95 % interval."""

    mean: float
    low: float
    high: float


def difference(arm: Sequence[Outcome], other: Sequence[Outcome], figure: Figure) -> Difference:
    """Return how much more an arm earned on the test split than another, paired by seed and by prompt.

    The interval is a percentile bootstrap of two crossed levels: each resample draws seeds and, within each task,
    prompts, the same prompts for all seeds. With five seeds it is somewhat narrow.
    """
    tasks = {prompt: scored.task for prompt, scored in arm[0].test.items()}
    prompts = sorted(tasks)
    differences = _table(arm, prompts, figure) - _table(other, prompts, figure)
    generator = np.random.default_rng(RESAMPLING_SEED)
    seeds = len(arm)
    seed_weights = generator.multinomial(seeds, np.full(seeds, 1 / seeds), RESAMPLES) / seeds
    prompt_weights = np.zeros((RESAMPLES, len(prompts)))
    even = np.zeros(len(prompts))
    for task in set(tasks.values()):
        places = [place for place, prompt in enumerate(prompts) if tasks[prompt] == task]
        share = 1 / (len(places) * len(set(tasks.values())))
        drawn = generator.multinomial(len(places), np.full(len(places), 1 / len(places)), RESAMPLES)
        prompt_weights[:, places] = drawn * share
        even[places] = share
    means = ((seed_weights @ differences) * prompt_weights).sum(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Difference(float(differences.mean(axis=0) @ even), float(low), float(high))


def _table(outcomes: Sequence[Outcome], prompts: Sequence[str], figure: Figure) -> Numbers:
    """Return each prompt's figure; shape (seeds, prompts)."""
    return np.array([[getattr(outcome.test[prompt], figure) for prompt in prompts] for outcome in outcomes])


def test_mean(outcomes: Sequence[Outcome], figure: Figure) -> float:
    """Return the mean over seeds and tasks on the test split."""
    return fmean(_task_mean(outcome, figure) for outcome in outcomes)


def _task_mean(outcome: Outcome, figure: Figure) -> float:
    by_task: dict[str, list[float]] = {}
    for scored in outcome.test.values():
        by_task.setdefault(scored.task, []).append(getattr(scored, figure))
    return fmean(fmean(values) for values in by_task.values())


def final_validation(outcomes: Sequence[Outcome]) -> float:
    """Return the validation reward after the last step, the mean over seeds."""
    return fmean(outcome.curve[-1].reward for outcome in outcomes)


def mean_curve(outcomes: Sequence[Outcome]) -> dict[int, float]:
    """Return the validation reward after each validated step, the mean over seeds."""
    by_step = zip(*(outcome.curve for outcome in outcomes), strict=True)
    return {same[0].step: fmean(each.reward for each in same) for same in by_step}


def first_step(curve: Mapping[int, float], reward: float) -> int | None:
    """Return the first validated step after 0 with at least such a reward; None where there is none."""
    return next((step for step, reached in curve.items() if step and reached >= reward), None)
