"""Sample size planning: prompts and training seeds needed for an effect, from an earlier comparison's variance."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Final

from schemas.errors import InputError
from tasks.evaluate.stats.variance import Components, MeanVariance

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
