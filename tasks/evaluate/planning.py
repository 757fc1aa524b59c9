"""How many prompts and training seeds an effect needs, from the variance that an earlier comparison found."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from schemas.errors import InputError
from tasks.evaluate.variance import Components, MeanVariance

ALPHA = 0.05
POWER = 0.80


@dataclass(frozen=True)
class Need:
    """What it takes to find an effect with power .80 by a one-sided test at .05."""

    seeds: int
    """Training seeds."""
    samples: int
    """Answers to each prompt of each seed."""
    prompts: int | None
    """The smallest number of prompts, 2 or more; None where none is enough, since the seeds alone spread too widely."""


def plan(
    components: Components, effect: float, *, seeds: Sequence[int] = (1, 2, 3, 5, 10), samples: Sequence[int] = (1, 4)
) -> tuple[Need, ...]:
    """Return the prompts that a true difference needs, for each number of training seeds and of samples.

    It takes the components as if they were known, and those of a few seeds hardly are. The promotion gate asks for
    more than this test does: a two-sided interval, which for few seeds is Student's. So a plan is a least.

    Args:
        components: Variances of the difference, such as an earlier comparison's.
        effect: The true difference that is to be found, in score, above 0.
        seeds: Numbers of training seeds to plan for.
        samples: Numbers of samples to plan for.

    Raises:
        InputError: The effect is not above 0, or larger than a score can be.
    """
    if not 0 < effect <= 1:
        raise InputError(f"the effect is {effect}; it must lie above 0 and be 1 at most, such as 0.05")
    return tuple(
        Need(n_seeds, n_samples, prompts_needed(_of_the_mean(components, n_seeds, n_samples), effect))
        for n_seeds in seeds
        for n_samples in samples
    )


def detectable_effect(variance: MeanVariance, prompts: int) -> float:
    """Return the true difference found with power .80 by a one-sided test at .05: 2.487 standard errors."""
    return _normal_distance() * math.sqrt(variance.per_prompt / prompts + variance.shared)


def prompts_needed(variance: MeanVariance, effect: float) -> int | None:
    """Return the smallest number of prompts, 2 or more, whose detectable effect is `effect`; None where none is."""
    left = (effect / _normal_distance()) ** 2 - variance.shared
    return max(2, math.ceil(variance.per_prompt / left)) if left > 0 else None


def read_components(report: Path) -> Mapping[str, Components]:
    """Read the components of variance, by scope, from a comparison's `report.json`.

    A report that has none tells the spread between prompts by its minimum detectable effect. Scopes with one prompt
    tell nothing and are left out.

    Raises:
        InputError: The file cannot be read, or is no report of a comparison of two prompts or more.
    """
    try:
        document = json.loads(report.read_text(encoding="utf-8"))
        blocks = {"overall": document["overall"], **document["tasks"]}
        variance = document.get("variance", {})
        found = {
            scope: _checked(Components(**variance[scope])) if scope in variance else _from_effect(block)
            for scope, block in blocks.items()
            if block["mde"] is not None
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(
            f"{report} is no report of a comparison ({type(error).__name__}: {error}); name its report.json"
        ) from error
    if not found:
        raise InputError(f"{report} compares one prompt, which tells no spread; name a report of two prompts or more")
    return found


def _of_the_mean(components: Components, seeds: int, samples: int) -> MeanVariance:
    per_answer = components.interaction + components.sample / samples
    return MeanVariance(per_prompt=components.prompt + per_answer / seeds, shared=components.seed / seeds)


def _checked(found: Components) -> Components:
    for name, variance in asdict(found).items():
        if not 0 <= variance < math.inf:
            raise ValueError(f"the variance {name} is {variance}, below 0 or no number")
    return found


def _from_effect(block: Mapping[str, Any]) -> Components:
    return _checked(Components((block["mde"] / _normal_distance()) ** 2 * block["n_prompts"], 0.0, 0.0, 0.0))


def _normal_distance() -> float:
    from scipy.special import ndtri

    return float(ndtri(1 - ALPHA) + ndtri(POWER))
