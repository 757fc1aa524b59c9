"""Agreement statistics of a task's rewards with the sheet's scores."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
# Rewards closer than this are equal: smaller differences are rounding errors.
_DECIMALS = 9

Numbers = NDArray[np.float64]
Interval = tuple[float, float]


@dataclass(frozen=True)
class Correlation:
    """Spearman's rank correlation of rewards and scores; None if one side is constant."""

    n: int
    rho: float | None
    bonett_wright: Interval | None
    """Its 95 % interval by Bonett and Wright's formula, which treats completions as independent, as the next does."""
    bca: Interval | None
    """Its 95 % interval by the bias-corrected and accelerated bootstrap."""

    @property
    def rho_low(self) -> float | None:
        """Return the smaller of the two lower bounds."""
        return min((each[0] for each in (self.bonett_wright, self.bca) if each), default=None)

    @property
    def rho_high(self) -> float | None:
        """Return the larger of the two upper bounds."""
        return max((each[1] for each in (self.bonett_wright, self.bca) if each), default=None)


@dataclass(frozen=True)
class Agreement:
    """Agreement of rewards with the mean scores of one task's completions; None for what cannot be computed."""

    overall: Correlation
    """Over all scored completions."""
    random_half: Correlation
    """Over the random sample alone: the others were chosen by their reward."""
    pairwise_accuracy: float | None
    """Share of pairs that rewards and scores order the same way, ties in both included."""
    within_prompt_rho: float | None
    """Mean rho among completions of the same prompt, which is what GRPO compares; over prompts where it is defined."""
    alpha: float | None
    """Ordinal Krippendorff alpha between raters; None if no completion has two."""
    n_raters: int
    overlap: int
    worst_in_top_quartile: int
    """Completions scored 1 by at least half of their raters, with a reward in the top quartile."""
    best: int
    """Completions scored 5 by at least half of their raters."""
    best_without_reward: int
    """Those of them whose reward is 0."""
    prompt_groups: int
    """Prompts of the sheet with several rollouts, on the sheet or not."""
    constant_groups: int
    """Those of them whose rewards are all the same."""
    no_numbers: int
    """Rewards that are not finite; they count as 0 in all other figures."""


def measure(
    rewards: Sequence[float],
    scores: Sequence[Mapping[str, int]],
    prompt_ids: Sequence[str],
    at_random: Sequence[bool],
    rng: np.random.Generator,
    groups: Sequence[Sequence[float]] | None = None,
) -> Agreement:
    """Compute every number of one task's agreement."""
    raw = np.array(rewards, dtype=np.float64)
    reward: Numbers = np.nan_to_num(raw, nan=0.0, posinf=0.0, neginf=0.0).round(_DECIMALS)
    score = np.array([fmean(given.values()) for given in scores])
    chosen = np.array(at_random, dtype=bool)
    rows_of: defaultdict[str, list[int]] = defaultdict(list)
    for row, prompt_id in enumerate(prompt_ids):
        rows_of[prompt_id].append(row)
    by_prompt = list(rows_of.values())
    known = [reward[rows].tolist() for rows in by_prompt] if groups is None else groups
    several = [group for group in known if len(group) > 1]
    overall = correlation(reward, score, rng)
    worst, best = _half_say(scores, 1), _half_say(scores, 5)
    # The smallest reward is never in the top quartile, however often it occurs.
    at_the_top = (reward >= np.quantile(reward, 0.75)) & (reward > reward.min())
    return Agreement(
        overall=overall,
        random_half=overall if chosen.all() else correlation(reward[chosen], score[chosen], rng),
        pairwise_accuracy=pairwise_accuracy(reward, score),
        within_prompt_rho=_within_prompt_rho(reward, score, by_prompt),
        alpha=krippendorff_alpha(scores),
        n_raters=len({rater for given in scores for rater in given}),
        overlap=sum(len(given) > 1 for given in scores),
        worst_in_top_quartile=int(np.sum(worst & at_the_top)),
        best=int(np.sum(best)),
        best_without_reward=int(np.sum(best & (reward == 0))),
        prompt_groups=len(several),
        constant_groups=sum(bool(np.ptp(np.round(group, _DECIMALS)) == 0) for group in several),
        no_numbers=int(np.sum(~np.isfinite(raw))),
    )


def correlation(reward: Numbers, score: Numbers, rng: np.random.Generator) -> Correlation:
    """Return Spearman's rho with both of its intervals."""
    rho = spearman(reward, score)
    if rho is None:
        return Correlation(len(reward), None, None, None)
    return Correlation(len(reward), rho, bonett_wright(rho, len(reward)), bca(reward, score, rng))


def spearman(reward: Numbers, score: Numbers) -> float | None:
    """Return Spearman's rho, or None if one side is constant."""
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
    """Return rho's 95 % BCa bootstrap interval, or None if leaving out any one row leaves rho unchanged.

    Efron (1987), "Better bootstrap confidence intervals".
    """
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


def krippendorff_alpha(scores: Sequence[Mapping[str, int]]) -> float | None:
    """Return the ordinal alpha between raters, or None if no two raters scored the same completion.

    Hayes and Krippendorff (2007), "Answering the call for a standard reliability measure for coding data". If all
    scores are equal, chance alone would agree as well, and alpha is unknown.
    """
    raters = sorted({rater for given in scores for rater in given})
    if not any(len(given) > 1 for given in scores):
        return None
    table = np.array([[given.get(rater, np.nan) for given in scores] for rater in raters], dtype=float)
    shared = table[:, np.sum(~np.isnan(table), axis=0) > 1]
    if len(np.unique(shared[~np.isnan(shared)])) < 2:
        return None
    from krippendorff import alpha

    return float(alpha(reliability_data=table, level_of_measurement="ordinal"))


def _half_say(scores: Sequence[Mapping[str, int]], wanted: int) -> NDArray[np.bool_]:
    """Mark the completions to which at least half of the raters gave the wanted score."""
    return np.array([2 * sum(score == wanted for score in given.values()) >= len(given) for given in scores])


def _within_prompt_rho(reward: Numbers, score: Numbers, groups: Sequence[list[int]]) -> float | None:
    """Return the mean rho over prompts whose rewards and scores both vary, or None without any."""
    rhos = [rho for rows in groups if (rho := spearman(reward[rows], score[rows])) is not None]
    return fmean(rhos) if rhos else None


def _rank_correlation(reward: Numbers, score: Numbers, axis: int = -1) -> Any:
    """Return Spearman's rho along the last axis; 0 for a constant resample, which shows no relation."""
    from scipy.stats import rankdata

    first, second = rankdata(reward, axis=axis), rankdata(score, axis=axis)
    first -= first.mean(axis=axis, keepdims=True)
    second -= second.mean(axis=axis, keepdims=True)
    spread = np.sqrt((first**2).sum(axis=axis) * (second**2).sum(axis=axis))
    product = (first * second).sum(axis=axis)
    return np.divide(product, spread, out=np.zeros_like(product), where=spread > 0)
