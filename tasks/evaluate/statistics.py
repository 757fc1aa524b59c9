"""Paired statistics of base against tuned: one difference a prompt, every number with its uncertainty.

The unit is the prompt: samples and seeds of one prompt are averaged before anything here sees them, because answers to
one prompt are not independent. So everything is said about new prompts, for the seeds that were run.

The primary test is sign-flip permutation on the mean difference. Wilcoxon's signed-rank test stands beside it as the
source project's figure: it is no test of the mean, and calls many small gains with a few large losses an improvement.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from schemas.tasks import TaskName

ALPHA = 0.05
POWER = 0.80

Numbers = NDArray[np.float64]
Verdict = Literal["better", "non-inferior", "worse", "inconclusive"]

# Up to this many differing prompts, all 65,536 sign patterns are cheaper than an approximation is worth.
_MOST_ENUMERATED = 16
# Differences are rounded to 1e-9, so two different sums are at least 2e-9 apart; anything nearer is a rounding error.
_SAME_SUM = 5e-10
# Random numbers drawn at once: bounds the memory at any number of prompts.
_NUMBERS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Block:
    """What is known of one difference, over all prompts or over those of one task (DESIGN: `report.json`).

    An interval and what rests on the spread are None where there is one prompt: it tells nothing of others.
    """

    n_prompts: int
    """Prompts, the unit of every number here."""
    n_seeds: int
    """Training seeds averaged in each prompt's scores."""
    n_nonzero: int
    """Prompts on which the two models' scores differ."""
    mean_base: float
    """Mean score of the base model."""
    mean_tuned: float
    """Mean score of the tuned model."""
    mean_difference: float
    """Tuned minus base."""
    ci_low: float | None
    """Lower end of the two-sided 95 % BCa interval of the mean difference."""
    ci_high: float | None
    """Upper end of the same interval."""
    hodges_lehmann: float
    """Median of the means of all pairs of differences: the typical difference, not moved by outliers."""
    rank_biserial: float
    """Matched-pairs rank-biserial correlation in [-1, 1]: rank sum of gains minus that of losses, over both."""
    p_win: float
    """Share of prompts on which the tuned model scores higher."""
    p_tie: float
    """Share of prompts with equal scores."""
    p_loss: float
    """Share of prompts on which the tuned model scores lower."""
    p_signflip: float
    """One-sided p of the sign-flip test that the mean difference is greater than 0."""
    p_wilcoxon: float
    """One-sided p of Wilcoxon's signed-rank test, by permutation."""
    p_harm: float
    """The sign-flip test the other way: that the mean difference is less than 0."""
    p_holm: float
    """`p_signflip` after Holm's correction over the tasks; overall it is one test and stays as it is."""
    noninferiority_low: float | None
    """One-sided 95 % BCa lower bound of the mean difference, to be held against the margin."""
    mde: float | None
    """Minimum detectable effect: the true difference found with power .80 by a one-sided test at .05."""
    n_for_margin: int | None
    """Prompts with which equally good models would be found non-inferior with power .80."""
    verdict: Verdict
    """What the numbers show, in one word; see `judge`."""


def measure(
    base: Numbers, tuned: Numbers, *, n_seeds: int, margin: float, resamples: int, rng: np.random.Generator
) -> Block:
    """Compute every number of one block, with `p_holm` as if it were the only test.

    Args:
        base: Mean score of the base model on each prompt, in [0, 1].
        tuned: The same of the tuned model, prompt by prompt.
        n_seeds: Training seeds averaged in the scores.
        margin: The non-inferiority margin, in score.
        resamples: Bootstrap resamples, and sign patterns where they are too many to enumerate.
        rng: Source of all randomness.
    """
    differences = np.round(tuned - base, 9)
    wins, losses = float(np.mean(differences > 0)), float(np.mean(differences < 0))
    signed_ranks = rank_with_sign(differences)
    low, high, noninferiority_low = mean_interval(differences, resamples, rng)
    p_signflip, p_harm = sign_flip(differences, resamples, rng)
    p_wilcoxon, _ = sign_flip(signed_ranks, resamples, rng)
    block = Block(
        n_prompts=len(differences),
        n_seeds=n_seeds,
        n_nonzero=int(np.count_nonzero(differences)),
        mean_base=float(np.mean(base)),
        mean_tuned=float(np.mean(tuned)),
        mean_difference=float(np.mean(differences)),
        ci_low=low,
        ci_high=high,
        hodges_lehmann=hodges_lehmann(differences),
        rank_biserial=float(signed_ranks.sum() / np.abs(signed_ranks).sum()) if signed_ranks.any() else 0.0,
        p_win=wins,
        p_tie=float(np.mean(differences == 0)),
        p_loss=losses,
        p_signflip=p_signflip,
        p_wilcoxon=p_wilcoxon,
        p_harm=p_harm,
        p_holm=p_signflip,
        noninferiority_low=noninferiority_low,
        mde=minimum_detectable_effect(differences),
        n_for_margin=prompts_for_margin(differences, margin),
        verdict="inconclusive",
    )
    return replace(block, verdict=judge(block, margin))


def judge(block: Block, margin: float) -> Verdict:
    """Say in one word what a block's numbers show.

    `better` needs the test and the interval to agree, since on skewed differences either alone claims too often.
    `worse` needs the test for harm only, which is never corrected for the number of tasks: harm must be easy to see.
    One prompt, or equal scores on all of them, show nothing of either model and are `inconclusive`.
    """
    if block.ci_low is None or block.noninferiority_low is None or block.n_nonzero == 0:
        return "inconclusive"
    if block.p_holm < ALPHA and block.ci_low > 0:
        return "better"
    if block.p_harm < ALPHA:
        return "worse"
    return "non-inferior" if block.noninferiority_low > -margin else "inconclusive"


def correct(blocks: Mapping[TaskName, Block], margin: float) -> dict[TaskName, Block]:
    """Return the tasks' blocks with Holm's correction over them, and judged by it."""
    p_holm = holm({task: block.p_signflip for task, block in blocks.items()})
    corrected = {task: replace(block, p_holm=p_holm[task]) for task, block in blocks.items()}
    return {task: replace(block, verdict=judge(block, margin)) for task, block in corrected.items()}


def mean_interval(
    differences: Numbers, resamples: int, rng: np.random.Generator
) -> tuple[float | None, float | None, float | None]:
    """Return the two-sided 95 % BCa interval of the mean and its one-sided 95 % lower bound.

    Efron (1987), "Better bootstrap confidence intervals". Equal differences have no spread to resample: the interval
    is then the point itself, for two prompts or more, and unknown (None) for one.
    """
    if len(differences) < 2:
        return None, None, None
    if np.ptp(differences) == 0:
        point = float(differences[0])
        return point, point, point
    from scipy.stats import bootstrap

    two_sided = bootstrap(
        (differences,),
        np.mean,
        n_resamples=resamples,
        confidence_level=1 - ALPHA,
        method="BCa",
        batch=max(1, _NUMBERS_AT_ONCE // len(differences)),
        rng=rng,
    )
    lower = bootstrap(
        (differences,),
        np.mean,
        n_resamples=0,
        confidence_level=1 - ALPHA,
        alternative="greater",
        method="BCa",
        bootstrap_result=two_sided,
    )
    interval = two_sided.confidence_interval
    return float(interval.low), float(interval.high), float(lower.confidence_interval.low)


def sign_flip(values: Numbers, resamples: int, rng: np.random.Generator) -> tuple[float, float]:
    """Test whether the mean is greater, and whether it is less, than 0, by flipping signs (Fisher, 1935).

    Exact while the patterns of signs can be enumerated, else by Monte Carlo with (b + 1) / (m + 1), which is never 0
    (Phipson and Smyth, 2010). On signed ranks this is Wilcoxon's test by permutation, since flipping signs leaves the
    ranks alone; scipy's `PermutationMethod` ranks anew in each resample and takes a hundred times as long.

    Returns:
        p of "greater" and p of "less"; both 1 where every value is 0.
    """
    nonzero = values[values != 0]
    if len(nonzero) == 0:
        return 1.0, 1.0
    # With F the sum of the flipped values, the sum becomes total - 2 F: as high as the total where F <= 0.
    if len(nonzero) <= _MOST_ENUMERATED:
        patterns = np.arange(2 ** len(nonzero))
        flipped = ((patterns[:, None] >> np.arange(len(nonzero))) & 1) @ nonzero
        return float(np.mean(flipped <= _SAME_SUM)), float(np.mean(flipped >= -_SAME_SUM))
    as_high = as_low = 1
    at_once = max(1, _NUMBERS_AT_ONCE // len(nonzero))
    for start in range(0, resamples, at_once):
        rows = min(at_once, resamples - start)
        flipped = rng.integers(0, 2, (rows, len(nonzero)), dtype=np.int8) @ nonzero
        as_high += int(np.count_nonzero(flipped <= _SAME_SUM))
        as_low += int(np.count_nonzero(flipped >= -_SAME_SUM))
    return as_high / (resamples + 1), as_low / (resamples + 1)


def rank_with_sign(differences: Numbers) -> Numbers:
    """Return Wilcoxon's signed ranks of the differences that are not 0 (mean ranks for ties)."""
    from scipy.stats import rankdata

    nonzero = differences[differences != 0]
    return np.asarray(rankdata(np.abs(nonzero)) * np.sign(nonzero), dtype=np.float64)


def hodges_lehmann(differences: Numbers) -> float:
    """Return the median of the means of all pairs, each value with itself included (Hodges and Lehmann, 1963)."""
    first, second = np.triu_indices(len(differences))
    return float(np.median((differences[first] + differences[second]) / 2))


def holm(p_values: Mapping[TaskName, float]) -> dict[TaskName, float]:
    """Correct p values for being several (Holm, 1979): the family-wise error stays below the level."""
    ordered = sorted(p_values, key=lambda name: p_values[name])
    corrected: dict[TaskName, float] = {}
    largest = 0.0
    for rank, name in enumerate(ordered):
        largest = max(largest, min(1.0, (len(ordered) - rank) * p_values[name]))
        corrected[name] = largest
    return {name: corrected[name] for name in p_values}


def minimum_detectable_effect(differences: Numbers) -> float | None:
    """Return (z_.95 + z_.80) sd / sqrt(n), which is 2.487 sd / sqrt(n)."""
    if len(differences) < 2:
        return None
    return _normal_distance() * float(np.std(differences, ddof=1)) / math.sqrt(len(differences))


def prompts_for_margin(differences: Numbers, margin: float) -> int | None:
    """Return the smallest n whose minimum detectable effect is the margin, and at least 2."""
    if len(differences) < 2:
        return None
    needed = (_normal_distance() * float(np.std(differences, ddof=1)) / margin) ** 2
    return max(2, math.ceil(needed))


def _normal_distance() -> float:
    from scipy.special import ndtri

    return float(ndtri(1 - ALPHA) + ndtri(POWER))
