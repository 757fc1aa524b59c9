"""Simulated audits: rewards and scores of completions whose true agreement is known.

An ordinal probit: two correlated normal numbers stand for a completion's worth to people and to the reward. The first
is cut into the scores 1 to 5, the reward rises with the other. Their correlation is computed, not sampled, so that
Spearman's rho of rewards and scores has the requested value among infinitely many completions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from schemas.config.config import AuditConfig
from tasks.audit import statistics
from tasks.audit.gate import Probe, judge
from tasks.audit.statistics import Interval, Numbers, measure

SEED: Final = 5
SCORES: Final = 40
RESAMPLES: Final = 1_000
SHARES: Final = (0.20, 0.28, 0.21, 0.11, 0.20)
"""Shares of the scores 1 to 5, as on the shipped sheet."""
PER_PROMPT: Final = 4
SHAPES: Final[Mapping[str, Callable[[Numbers], Numbers]]] = {
    "continuous": lambda place: place,
    "30 % zeros": lambda place: np.maximum(0, (place - 0.3) / 0.7),
    "six levels": lambda place: np.floor(6 * place) / 5,
    "30 % at the top": lambda place: np.minimum(1, place / 0.7),
}
"""Functions from the completions' ranks by reward, evenly spread over [0, 1], to rewards."""

_GRID: Final = 60_000
_PASSED: Final = {"reference_answer": Probe(True, "")}


@dataclass(frozen=True)
class Outcome:
    """Results of one simulated audit of one task."""

    covered: Mapping[str, bool]
    """Of each interval, the wider too."""
    passed: bool


def latent_correlation(shape: Callable[[Numbers], Numbers], rho: float) -> float:
    """Return the correlation of the normal numbers for which Spearman's rho of rewards and scores has the given value.

    Spearman's rho of a population is the correlation of both sides' middle ranks. ValueError where the reward ties too
    often for it.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr, ndtri
    from scipy.stats import rankdata

    places = (np.arange(_GRID) + 0.5) / _GRID
    worth = ndtri(places)
    reward_ranks = rankdata(shape(places)) / _GRID
    edges = np.concatenate([[0.0], np.cumsum(SHARES)])
    score_ranks = (edges[1:] + edges[:-1]) / 2 - 0.5
    cuts = ndtri(np.clip(edges, 0, 1))
    spread = np.sqrt(np.var(reward_ranks) * np.sum(np.array(SHARES) * score_ranks**2))

    def excess(correlation: float) -> float:
        below = ndtr((cuts - correlation * worth[:, None]) / np.sqrt(1 - correlation**2))
        expected = np.diff(below, axis=1) @ score_ranks
        return float(np.mean((reward_ranks - 0.5) * expected) / spread - rho)

    return float(brentq(excess, 0, 0.99999, xtol=1e-6))


def simulate(part: tuple[tuple[float, str], int, tuple[int, int]]) -> list[Outcome]:
    """Audit one simulated task many times: its true rho and shape, the number of audits, the stream of randomness."""
    (rho, name), audits, stream = part
    # Fewer than an audit draws, which would take five times as long; the coverage is the same.
    statistics.RESAMPLES = RESAMPLES
    rng = np.random.default_rng((SEED, *stream))
    correlation = latent_correlation(SHAPES[name], rho)
    return [_audit(SHAPES[name], rho, correlation, rng) for _ in range(audits)]


def _audit(shape: Callable[[Numbers], Numbers], rho: float, correlation: float, rng: np.random.Generator) -> Outcome:
    from scipy.special import ndtr

    root = np.linalg.cholesky(np.array([[1, correlation], [correlation, 1]]))
    rewarded, worth = ndtr(root @ rng.standard_normal((2, SCORES)))
    given = np.searchsorted(np.cumsum(SHARES)[:-1], worth) + 1
    agreement = measure(
        [float(reward) for reward in shape(rewarded)],
        [{"r1": int(score)} for score in given],
        [f"p{row // PER_PROMPT}" for row in range(SCORES)],
        [True] * SCORES,
        rng,
    )
    found = agreement.overall
    intervals = {
        "Bonett-Wright": found.bonett_wright,
        "BCa": found.bca,
        "wider": (found.rho_low or 0.0, found.rho_high or 0.0),
    }
    covered = {name: _holds(interval, rho) for name, interval in intervals.items()}
    return Outcome(covered, not judge("push", agreement, _PASSED, AuditConfig()).objections)


def _holds(interval: Interval | None, rho: float) -> bool:
    return interval is not None and interval[0] <= rho <= interval[1]
