"""Figures of the training benchmark: means, and intervals of paired differences."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Report
from benchmarks.training.arms import Outcome
from schemas.tasks import TASK_NAMES, TaskName

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

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ({self.low:+.3f} {self.high:+.3f})"


def difference(
    arm: Sequence[Outcome], other: Sequence[Outcome], figure: Figure, only: TaskName | None = None
) -> Difference:
    """Return how much more an arm earned on the test split, or `only` on one task's, paired by seed and by prompt.

    The interval is a percentile bootstrap of two crossed levels: each resample draws seeds and, within each task,
    prompts, the same prompts for all seeds. With three seeds it is somewhat narrow.
    """
    tasks = {prompt: scored.task for prompt, scored in arm[0].test.items() if only in (None, scored.task)}
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


def mean_on_test(outcomes: Sequence[Outcome], figure: Figure, only: TaskName | None = None) -> float:
    """Return the mean over seeds and tasks on the test split, or over seeds of `only` one task."""
    return fmean(
        fmean(getattr(scored, figure) for scored in outcome.test.values() if scored.task == task)
        for outcome in outcomes
        for task in (tasks_of(outcome) if only is None else (only,))
    )


def print_arms(report: Report, best: str, outcomes: Mapping[Any, Sequence[Outcome]], compared: Collection[str]) -> None:
    """Print what each arm costs and reaches over all tasks, and how far one arm is above those `compared`."""
    rows = []
    for arm, of_arm in outcomes.items():
        cells = [arm, f"{fmean(each.tokens for each in of_arm):,.0f}", f"{fmean(each.seconds for each in of_arm):.0f}"]
        for figure in FIGURES:
            cells.append(f"{mean_on_test(of_arm, figure):.3f}")
            cells.append(str(difference(outcomes[best], of_arm, figure)) if arm in compared else "")
        rows.append(cells)
    lead = f"{best} is better by"
    title = "Sampled tokens, seconds, test reward and ground truth; 95 % intervals"
    report.table(title, ("arm", "tokens", "s", "test", lead, "truth", lead), rows)


def tasks_of(outcome: Outcome) -> list[TaskName]:
    """Return the tasks of the test split."""
    found = {scored.task for scored in outcome.test.values()}
    return [task for task in TASK_NAMES if task in found]
