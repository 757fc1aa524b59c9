"""Variance components of the differences: prompts, training seeds, their interaction, and single answers.

The difference of prompt i, training seed j and sample k is mean + prompt_i + seed_j + interaction_ij + sample_ijk.
Prompts and seeds are crossed, because every prompt is answered by every trained model, so a seed's luck is shared by
all prompts and no number of prompts averages it away. The components are those of the method of moments (Searle,
Casella and McCulloch, 1992, "Variance components", 4.3), cut off at 0.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from schemas.errors import InputError

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Components:
    """Variances of the difference between the models, each 0 or more.

    With one training seed `seed` and `interaction` are not identified: they are 0, and the interaction is part of
    `prompt`. With one sample `sample` is not identified: it is 0, and part of `interaction`, or with one seed of
    `prompt`; likewise `base_sample` is part of `prompt`.
    """

    prompt: float
    """Between prompts: some gain more than others, whatever the seed."""
    seed: float
    """Between training seeds: some gain more than others, on all prompts equally."""
    interaction: float
    """Between prompts within a seed, beyond what the prompt and the seed gain by themselves."""
    sample: float
    """Between answers to one prompt by one seed: of the tuned model, and of a base scored for every seed."""
    base_sample: float
    """Between the answers of a base scored once for all seeds: more seeds do not average it away."""


@dataclass(frozen=True)
class MeanSquares:
    """Mean squares of prompts by seeds, for two or more of both."""

    prompt: float
    """Of the prompts, with (prompts - 1) degrees of freedom."""
    seed: float
    """Of the seeds, with (seeds - 1) degrees of freedom."""
    rest: float
    """Of the residual, with the product of the two degrees of freedom."""


def components(
    differences: Numbers, sample_variance: Numbers, base_sample_variance: Numbers, n_samples: int
) -> Components:
    """Split the variance of differences, of shape (prompts, seeds), into its components; all 0 for one prompt.

    The sample variances are those within a cell (with n - 1): what each seed has for itself, and what a base has that
    was scored once for all seeds.
    """
    n_prompts, n_seeds = differences.shape
    if n_prompts < 2:
        return Components(0.0, 0.0, 0.0, 0.0, 0.0)
    sample = float(np.mean(sample_variance)) if n_samples > 1 else 0.0
    base_sample = float(np.mean(base_sample_variance)) if n_samples > 1 else 0.0
    if n_seeds < 2:
        of_the_means = (sample + base_sample) / n_samples
        return Components(max(0.0, float(np.var(differences, ddof=1)) - of_the_means), 0.0, 0.0, sample, base_sample)
    squares = mean_squares(differences)
    return Components(
        prompt=max(0.0, (squares.prompt - squares.rest) / n_seeds - base_sample / n_samples),
        seed=max(0.0, (squares.seed - squares.rest) / n_prompts),
        interaction=max(0.0, squares.rest - sample / n_samples),
        sample=sample,
        base_sample=base_sample,
    )


def mean_squares(differences: Numbers) -> MeanSquares:
    """Return the mean squares of differences of shape (prompts, seeds), 2 or more of each."""
    n_prompts, n_seeds = differences.shape
    by_prompt, by_seed = differences.mean(axis=1), differences.mean(axis=0)
    rest = differences - by_prompt[:, None] - by_seed + differences.mean()
    return MeanSquares(
        prompt=n_seeds * float(np.var(by_prompt, ddof=1)),
        seed=n_prompts * float(np.var(by_seed, ddof=1)),
        rest=float(np.sum(rest**2)) / ((n_prompts - 1) * (n_seeds - 1)),
    )


@dataclass(frozen=True)
class MeanVariance:
    """Variance of the mean difference: `per_prompt` / prompts + `shared`."""

    per_prompt: float
    """The part that more prompts average away: the variance of one prompt's mean over the seeds."""
    shared: float
    """The part that only more training seeds average away."""


def mean_variance(differences: Numbers) -> MeanVariance:
    """Return the variance of the mean of differences of shape (prompts, seeds), with two prompts or more."""
    n_prompts, n_seeds = differences.shape
    per_prompt = float(np.var(differences.mean(axis=1), ddof=1))
    if n_seeds < 2:
        return MeanVariance(per_prompt, 0.0)
    squares = mean_squares(differences)
    return MeanVariance(per_prompt, max(0.0, squares.seed - squares.rest) / (n_prompts * n_seeds))


def error_of_the_mean(differences: Numbers) -> tuple[float, float]:
    """Return the variance of the mean and its degrees of freedom, of (prompts, seeds) with two prompts or more.

    With several seeds the degrees of freedom are those of its mean squares (Satterthwaite, 1946).
    """
    n_prompts, n_seeds = differences.shape
    if n_seeds < 2:
        return float(np.var(differences, ddof=1)) / n_prompts, float(n_prompts - 1)
    squares = mean_squares(differences)
    parts = [(squares.prompt, n_prompts - 1)]
    if squares.seed > squares.rest:
        parts += [(squares.seed, n_seeds - 1), (-squares.rest, (n_prompts - 1) * (n_seeds - 1))]
    total = sum(square for square, _ in parts)
    if total == 0:
        return 0.0, float(n_prompts - 1)
    freedom = total**2 / sum(square**2 / degrees for square, degrees in parts)
    return total / (n_prompts * n_seeds), freedom


SMALLEST_EFFECT: Final = 1e-4
"""Smaller score differences are irrelevant, and no number of prompts shows them."""
ALPHA: Final = 0.05
POWER: Final = 0.80
PLANNED_SEEDS: Final = (1, 3, 5, 10)
PLANNED_SAMPLES: Final = (1, 4)


@dataclass(frozen=True)
class Need:
    """Sample size that finds an effect with power .80 by a one-sided test at .05."""

    seeds: int
    samples: int
    prompts: int | None
    """The smallest number of prompts, 2 or more; None if none is enough, since the seeds alone spread too widely."""


@dataclass(frozen=True)
class EarlierComparison:
    """Results of an earlier comparison, for planning the next."""

    components: Mapping[str, Components]
    """Variances of the difference, `overall` and by task, if prompts differ."""
    without_spread: tuple[str, ...]
    """Scopes left out of them: all their prompts have one difference, or there is one prompt."""
    margin: float
    n_seeds: int


def plan(
    components: Components,
    effect: float,
    *,
    seeds: Sequence[int] = PLANNED_SEEDS,
    samples: Sequence[int] = PLANNED_SAMPLES,
) -> tuple[Need, ...]:
    """Return the prompts that a true difference needs, for each number of training seeds and of samples.

    The components are treated as known, although those of a few seeds hardly are. The promotion gate is stricter than
    this test: it uses a two-sided interval, for few seeds Student's. So a plan is a lower bound.

    Raises:
        InputError: The effect is too small to be relevant, or larger than a score can be.
    """
    if not SMALLEST_EFFECT <= effect <= 1:
        raise InputError(f"the effect is {effect}; it must lie between {SMALLEST_EFFECT:g} and 1, such as 0.05")
    return tuple(
        Need(n_seeds, n_samples, prompts_needed(_of_the_mean(components, n_seeds, n_samples), effect))
        for n_seeds in seeds
        for n_samples in samples
    )


def detectable_effect(variance: MeanVariance, prompts: int) -> float:
    """Return the true difference found with power .80 by a one-sided test at .05: 2.487 standard errors."""
    return _normal_distance() * math.sqrt(variance.per_prompt / prompts + variance.shared)


def prompts_needed(variance: MeanVariance, effect: float) -> int | None:
    """Return the smallest number of prompts, 2 or more, that detects `effect`; None if there is none."""
    left = (effect / _normal_distance()) ** 2 - variance.shared
    return max(2, math.ceil(variance.per_prompt / left)) if left > 0 else None


def read_comparison(report: Path) -> EarlierComparison:
    """Read the variance of a comparison from its `report.json`.

    Raises:
        InputError: The file cannot be read, is no report of a comparison, or none of its prompts differ.
    """
    try:
        document = json.loads(report.read_text(encoding="utf-8"))
        scopes = {"overall": document["overall"], **document["tasks"]}
        found = {scope: Components(**document["variance"][scope]) for scope in scopes}
        margin, n_seeds = float(document["margin"]), int(document["overall"]["n_seeds"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(
            f"{report} is no report of a comparison ({type(error).__name__}: {error}); name its report.json"
        ) from error
    components = {scope: of_scope for scope, of_scope in found.items() if any(astuple(of_scope))}
    if not components:
        raise InputError(f"{report}: every prompt has the same difference, which is no spread to plan by; name another")
    without = tuple(scope for scope in found if scope not in components)
    return EarlierComparison(components, without, margin, n_seeds)


def _of_the_mean(components: Components, seeds: int, samples: int) -> MeanVariance:
    of_the_base = components.base_sample / samples
    of_each_seed = components.interaction + components.sample / samples
    per_prompt = components.prompt + of_the_base + of_each_seed / seeds
    return MeanVariance(per_prompt=per_prompt, shared=components.seed / seeds)


def _normal_distance() -> float:
    from scipy.special import ndtri

    return float(ndtri(1 - ALPHA) + ndtri(POWER))
