"""Simulated comparisons through the deciding functions, for `benchmarks.statistics`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.stats import bootstrap

from benchmarks.statistics.scenarios import NULL_MEANS, Answers, Choices, Numbers, null
from schemas.documents import PairedScore
from schemas.tasks import TaskName
from tasks.evaluate.compare import compare
from tasks.evaluate.gate import decide
from tasks.evaluate.stats.resampling import mean_interval, widened
from tasks.evaluate.stats.sample_size import ALPHA
from tasks.evaluate.stats.statistics import measure

MARGIN: Final = 0.05
WIDE_MARGIN: Final = 0.5
"""A margin that no loss approaches, so that the gate depends on its other conditions alone."""


@dataclass(frozen=True)
class Null:
    """Two equally good models on six tasks."""

    prompts: int
    """Of all tasks together."""
    seeds: int
    """Training seeds."""
    seed_spread: float
    """Standard deviation of a training's latent luck."""

    def simulate(self, count: int, resamples: int, stream: Sequence[int]) -> Counter[str]:
        """Compare such models, and count the claims about them."""
        rng = np.random.default_rng(stream)
        counts: Counter[str] = Counter(simulations=count)
        for number in range(count):
            base, tuned = self._draw(rng)
            found = compare(base, tuned, margin=MARGIN, resamples=resamples, seed=number)
            wide = decide(found.scores, found.seed_differences, WIDE_MARGIN, None)
            counts["promoted"] += found.gate.verdict == "promote"
            counts["promoted, wide"] += wide.verdict == "promote"
            counts["overall better"] += found.overall.verdict == "better"
            counts["a task better"] += any(block.verdict == "better" for block in found.tasks.values())
            counts["overall worse"] += found.overall.verdict == "worse"
            counts["Wilcoxon"] += found.overall.p_wilcoxon < ALPHA
        return counts

    def _draw(self, rng: np.random.Generator) -> tuple[list[PairedScore], list[PairedScore]]:
        base: list[PairedScore] = []
        tuned: list[PairedScore] = []
        luck = rng.normal(size=self.seeds)
        for number, task in enumerate(NULL_MEANS):
            # 65 prompts are 10 or 11 per task.
            size = self.prompts // len(NULL_MEANS) + (number < self.prompts % len(NULL_MEANS))
            base_scores, tuned_scores = null(task, self.seed_spread).draw(rng, size, luck)
            base += _rows(task, base_scores[:, :1])
            tuned += _rows(task, tuned_scores)
        return base, tuned


@dataclass(frozen=True)
class Claim:
    """One block of a difference, which may or may not be called better."""

    scores: Answers | Choices
    """Source of the scores."""
    prompts: int
    """Prompts of the block."""

    def simulate(self, count: int, resamples: int, stream: Sequence[int]) -> Counter[str]:
        """Measure such blocks, and count the claims."""
        rng = np.random.default_rng(stream)
        counts: Counter[str] = Counter(simulations=count)
        for _ in range(count):
            base, tuned = self.scores.draw(rng, self.prompts, np.zeros(1))
            block = measure(base, tuned, margin=MARGIN, resamples=resamples, rng=rng)
            counts["better"] += block.verdict == "better"
            counts["sign-flip"] += block.p_signflip < ALPHA
            counts["Wilcoxon"] += block.p_wilcoxon < ALPHA
        return counts


@dataclass(frozen=True)
class Coverage:
    """One interval of a difference whose true mean is known."""

    scores: Answers | Choices
    """Source of the scores."""
    prompts: int
    """Prompts of the block."""
    seeds: int = 1
    """Training seeds."""

    def simulate(self, count: int, resamples: int, stream: Sequence[int]) -> Counter[str]:
        """Make such intervals, and count which hold the true mean."""
        rng = np.random.default_rng(stream)
        counts: Counter[str] = Counter(simulations=count)
        truth = self.scores.true_difference
        for _ in range(count):
            base, tuned = self.scores.draw(rng, self.prompts, rng.normal(size=self.seeds))
            differences = np.round(tuned - base, 9)
            interval = mean_interval(differences, resamples, rng)
            if interval is None:
                raise AssertionError(f"{self.prompts} prompts have an interval")
            ends = {"stated": (interval.low, interval.high), "lower": (interval.noninferiority_low, 1.0)}
            ends |= _bca(differences.mean(axis=1), resamples, rng)
            for name, (low, high) in ends.items():
                counts[name] += low - _SAME <= truth <= high + _SAME
        return counts


_SAME: Final = 1e-9
"""Differences nearer than this are rounding errors."""


Simulation = Null | Claim | Coverage


def simulate(chunk: tuple[Simulation, int, int, Sequence[int]]) -> Counter[str]:
    """Return the counts of a simulation, for a pool of processes.

    Args:
        chunk: The simulation, its number of repetitions, the resamples of each, and the stream of randomness.
    """
    simulation, count, resamples, stream = chunk
    return simulation.simulate(count, resamples, stream)


def _bca(differences: Numbers, resamples: int, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    """Return scipy's BCa interval over prompts at its nominal level, and at the widened one, ignoring seeds."""
    if np.ptp(differences) < _SAME:
        return dict.fromkeys(("plain", "widened"), (float(differences[0]), float(differences[0])))
    plain = bootstrap((differences,), np.mean, n_resamples=resamples, method="BCa", rng=rng)
    wider = bootstrap(
        (differences,),
        np.mean,
        n_resamples=0,
        confidence_level=1 - 2 * widened(ALPHA / 2, len(differences)),
        method="BCa",
        bootstrap_result=plain,
    )
    ends = {"plain": plain.confidence_interval, "widened": wider.confidence_interval}
    return {name: (float(each.low), float(each.high)) for name, each in ends.items()}


def _rows(task: TaskName, scores: Numbers) -> list[PairedScore]:
    return [
        PairedScore(task=task, prompt_id=f"{task}-{prompt}", seed=seed, sample=0, score=score)
        for prompt, by_seed in enumerate(scores.tolist())
        for seed, score in enumerate(by_seed)
    ]
