"""Shares of a gain: what of it is left over each rung, and what of it is form and content.

A gain that is not shown has no shares: a ratio to what may be nothing says nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from schemas.config.evaluate import Rung
from schemas.tasks import TaskName
from tasks.evaluate.compare import Comparison, PromptScores
from tasks.evaluate.stats.resampling import NUMBERS_AT_ONCE, student_distance, widened
from tasks.evaluate.stats.sample_size import ALPHA
from tasks.evaluate.stats.statistics import PairedStats
from tasks.evaluate.stats.variance import Numbers

if TYPE_CHECKING:
    # It reads prompt tables, whose library a comparison of two files does not need.
    from tasks.evaluate.decision import RungStanding

FORM: Final = "form"
CONTENT: Final = "content"
"""The two parts of a gain: form is what the guided base has too, content is what is left."""
GUIDED: Final[Rung] = "base-guided"
BASE: Final = "base"
OVERALL: Final = "overall"


@dataclass(frozen=True)
class WithInterval:
    """A number with its 95 % interval."""

    value: float
    low: float | None
    """Lower end; None where it is unbounded or unknown."""
    high: float | None
    """Upper end, likewise."""


@dataclass(frozen=True)
class GainShares:
    """Shares of one gain, over all prompts or those of one task; without a gain that is shown, of nothing."""

    gain: float
    """Tuned minus base, in score."""
    shown: bool
    """Whether the gain is shown, by test and interval."""
    left: Mapping[str, WithInterval] = field(default_factory=dict)
    """By rung, the share of the gain that is left over it."""
    parts: Mapping[str, WithInterval] = field(default_factory=dict)
    """By part, its share; the shares add up to 1. Empty where the guided base was not evaluated."""
    over: str = BASE
    """The better of base and guided base, over which the content is left."""
    truth: WithInterval | None = None
    """Tuned minus base, in ground truth; None where unknown."""
    truth_left: WithInterval | None = None
    """Tuned minus `over`, in ground truth."""


def shares_of_gain(
    comparison: Comparison, rungs: Sequence["RungStanding"], *, resamples: int, seed: int
) -> dict[str, GainShares]:
    """Return the shares, of `overall` and by task; nothing without rungs."""
    if not rungs:
        return {}
    scopes: list[tuple[str, PairedStats]] = [(OVERALL, comparison.overall), *comparison.tasks.items()]
    return {scope: _of_scope(scope, block, comparison, rungs, resamples, seed) for scope, block in scopes}


def _of_scope(
    scope: str,
    block: PairedStats,
    comparison: Comparison,
    rungs: Sequence["RungStanding"],
    resamples: int,
    seed: int,
) -> GainShares:
    if not block.shows_gain:
        return GainShares(block.mean_difference, shown=False)
    prompts = _of(scope, comparison.prompts)
    tuned = np.array([[score for _, score in prompt.by_seed] for prompt in prompts])
    others = {BASE: np.array([prompt.base for prompt in prompts])}
    for rung in rungs:
        scores = {(each.task, each.prompt_id): each.base for each in rung.match.found.prompts}
        others[rung.name] = np.array([scores[prompt.task, prompt.prompt_id] for prompt in prompts])
    rng = np.random.default_rng([seed, *f"gain of {scope}".encode()])
    drawn, tuned_drawn = _means(others, tuned, resamples, rng)
    gain_drawn = tuned_drawn - drawn[BASE]
    gains = tuned - others[BASE][:, None]
    gain = float(gains.mean())

    def share(differences: Numbers, resampled: Numbers) -> WithInterval:
        """Return a difference's mean as a share of the gain's; the differences are of (prompts, seeds)."""
        value = float(differences.mean()) / gain
        # To first order the ratio errs as the mean of these does; its interval is never narrower than their Student's.
        errors = differences - value * gains
        distance = student_distance(errors, ALPHA / 2) / gain if np.ptp(errors) else 0.0
        level = max(widened(ALPHA / 2, len(prompts)), 1 / resamples)
        ratios = _ratios(resampled, gain_drawn)
        low = float(np.quantile(ratios, level, method="lower"))
        high = float(np.quantile(ratios, 1 - level, method="higher"))
        return WithInterval(value, _bounded(min(low, value - distance)), _bounded(max(high, value + distance)))

    best, parts = BASE, {}
    if GUIDED in others:
        best = GUIDED if others[GUIDED].mean() > others[BASE].mean() else BASE
        best_drawn = np.maximum(drawn[BASE], drawn[GUIDED])
        form = np.broadcast_to((others[best] - others[BASE])[:, None], tuned.shape)
        parts = {
            FORM: share(form, best_drawn - drawn[BASE]),
            CONTENT: share(tuned - others[best][:, None], tuned_drawn - best_drawn),
        }
    over = {rung.name: rung.match.found for rung in rungs}
    return GainShares(
        block.mean_difference,
        shown=True,
        left={rung.name: share(tuned - others[rung.name][:, None], tuned_drawn - drawn[rung.name]) for rung in rungs},
        parts=parts,
        over=best,
        truth=_of_truth(comparison, scope),
        truth_left=_of_truth(over.get(best, comparison), scope),
    )


def _means(
    others: Mapping[str, Numbers], tuned: Numbers, resamples: int, rng: np.random.Generator
) -> tuple[dict[str, Numbers], Numbers]:
    """Return the means of each resample, which are of the same prompts for all, and of the same seeds."""
    n_prompts, n_seeds = tuned.shape
    columns = np.column_stack([*others.values(), tuned])
    means = []
    at_once = max(1, NUMBERS_AT_ONCE // n_prompts)
    for start in range(0, resamples, at_once):
        rows = rng.integers(0, n_prompts, (min(at_once, resamples - start), n_prompts))
        means.append(np.stack([column[rows].mean(axis=1) for column in columns.T], axis=1))
    drawn = np.concatenate(means)
    weights = rng.multinomial(n_seeds, np.full(n_seeds, 1 / n_seeds), size=resamples) / n_seeds
    by_name = {name: drawn[:, place] for place, name in enumerate(others)}
    return by_name, (drawn[:, len(others) :] * weights).sum(axis=1)


def _ratios(numerators: Numbers, gains: Numbers) -> Numbers:
    """Return the shares; where a resample has no gain, its share is beyond every bound."""
    endless = np.where(numerators == 0, 0.0, np.copysign(np.inf, numerators))
    return np.where(gains > 0, numerators / np.where(gains > 0, gains, 1.0), endless)


def _bounded(end: float) -> float | None:
    return end if math.isfinite(end) else None


def _of_truth(comparison: Comparison, scope: str) -> WithInterval | None:
    truth = comparison.ground_truth
    if truth is None:
        return None
    of_task = next((found for task, found in truth.tasks.items() if task == scope), None)
    block = truth.overall if scope == OVERALL else of_task
    return WithInterval(block.mean_difference, block.ci_low, block.ci_high) if block else None


def _of(scope: TaskName | str, prompts: Sequence[PromptScores]) -> list[PromptScores]:
    return [prompt for prompt in prompts if scope in {OVERALL, prompt.task}]
