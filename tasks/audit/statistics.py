"""How well a task's rewards agree with the sheet's scores."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
# Rewards nearer than this are equal; what differs less is a rounding error.
_DECIMALS = 9

Numbers = NDArray[np.float64]
Interval = tuple[float, float]


@dataclass(frozen=True)
class Agreement:
    """Agreement of rewards and scores on one task; None where it cannot be computed, such as for constant rewards."""

    n: int
    """Scored completions."""
    rho: float | None
    """Spearman's rank correlation."""
    rho_low: float | None
    """Lower end of rho's 95 % interval: the smaller of Bonett-Wright's and BCa's."""
    rho_high: float | None
    """Upper end: the larger of the two."""
    tau_b: float | None
    """Kendall's tau-b."""
    pairwise_accuracy: float | None
    """Share of pairs that rewards and scores put in the same order, a tie in both included."""
    within_prompt_rho: float | None
    """Mean rho among completions of the same prompt, which is what GRPO compares; over prompts where it exists."""
    alpha: float | None
    """Ordinal Krippendorff alpha between raters; None while there is one rater."""
    n_raters: int
    """Raters who scored the task."""


def measure(
    rewards: Sequence[float],
    scores: Sequence[int],
    prompt_ids: Sequence[str],
    raters: Sequence[str],
    rng: np.random.Generator,
) -> Agreement:
    """Compute every number of one task's agreement.

    Args:
        rewards: The reward of each completion.
        scores: The sheet's score of the same completions.
        prompt_ids: Which prompt each completion answers.
        raters: Who scored it.
        rng: Source of the bootstrap's randomness.
    """
    reward, score = np.round(np.array(rewards, dtype=float), _DECIMALS), np.array(scores, dtype=float)
    rho = spearman(reward, score)
    low, high = _interval(reward, score, rho, rng)
    return Agreement(
        n=len(scores),
        rho=rho,
        rho_low=low,
        rho_high=high,
        tau_b=_tau_b(reward, score) if rho is not None else None,
        pairwise_accuracy=pairwise_accuracy(reward, score),
        within_prompt_rho=within_prompt_rho(reward, score, prompt_ids),
        alpha=None,
        n_raters=len(set(raters)),
    )


def spearman(reward: Numbers, score: Numbers) -> float | None:
    """Return Spearman's rho, or None where one side is constant."""
    if len(reward) < 2 or np.ptp(reward) == 0 or np.ptp(score) == 0:
        return None
    return float(_rank_correlation(reward, score))


def bonett_wright(rho: float, n: int) -> Interval | None:
    """Return tanh(atanh rho +- z sqrt((1 + rho^2 / 2) / (n - 3))), 95 %, or None for n of 3 or less.

    Bonett and Wright (2000), "Sample size requirements for estimating Pearson, Kendall and Spearman correlations".
    """
    if n <= 3:
        return None
    if abs(rho) == 1:
        return rho, rho
    from scipy.special import ndtri

    half = float(ndtri(0.975)) * math.sqrt((1 + rho**2 / 2) / (n - 3))
    return math.tanh(math.atanh(rho) - half), math.tanh(math.atanh(rho) + half)


def bca(reward: Numbers, score: Numbers, rng: np.random.Generator) -> Interval | None:
    """Return rho's 95 % BCa bootstrap interval, or None where leaving out any one row leaves rho as it is."""
    from scipy.stats import bootstrap

    left_out = [_rank_correlation(np.delete(reward, row), np.delete(score, row)) for row in range(len(reward))]
    if len(left_out) < 4 or np.ptp(left_out) == 0:
        return None
    interval = bootstrap(
        (reward, score), _rank_correlation, n_resamples=RESAMPLES, paired=True, vectorized=True, method="BCa", rng=rng
    ).confidence_interval
    return float(interval.low), float(interval.high)


def pairwise_accuracy(reward: Numbers, score: Numbers) -> float | None:
    """Return the share of pairs in the same relation on both sides: above, below or tied.

    Deutsch, Foster and Freitag (2023), "Ties matter: meta-evaluating modern metrics with pairwise accuracy and tie
    calibration", without the calibration. A continuous reward seldom ties, so perfect agreement stays below 1.
    """
    if len(reward) < 2:
        return None
    first, second = np.triu_indices(len(reward), k=1)
    same = np.sign(reward[first] - reward[second]) == np.sign(score[first] - score[second])
    return float(np.mean(same))


def within_prompt_rho(reward: Numbers, score: Numbers, prompt_ids: Sequence[str]) -> float | None:
    """Return the mean rho over prompts, of those whose rewards and scores both vary, or None where there is none."""
    rows: dict[str, list[int]] = defaultdict(list)
    for row, prompt_id in enumerate(prompt_ids):
        rows[prompt_id].append(row)
    rhos = [rho for chosen in rows.values() if (rho := spearman(reward[chosen], score[chosen])) is not None]
    return fmean(rhos) if rhos else None


def _interval(
    reward: Numbers, score: Numbers, rho: float | None, rng: np.random.Generator
) -> tuple[float | None, float | None]:
    """Return the widest that either method says."""
    if rho is None:
        return None, None
    known = [interval for interval in (bonett_wright(rho, len(reward)), bca(reward, score, rng)) if interval]
    return (min(low for low, _ in known), max(high for _, high in known)) if known else (None, None)


def _tau_b(reward: Numbers, score: Numbers) -> float:
    from scipy.stats import kendalltau

    return float(kendalltau(reward, score).statistic)


def _rank_correlation(reward: Numbers, score: Numbers, axis: int = -1) -> Any:
    """Return Spearman's rho along the last axis; 0 where a resample is constant and shows no relation."""
    from scipy.stats import rankdata

    first, second = rankdata(reward, axis=axis), rankdata(score, axis=axis)
    first -= first.mean(axis=axis, keepdims=True)
    second -= second.mean(axis=axis, keepdims=True)
    spread = np.sqrt((first**2).sum(axis=axis) * (second**2).sum(axis=axis))
    product = (first * second).sum(axis=axis)
    return np.divide(product, spread, out=np.zeros_like(product), where=spread > 0)
