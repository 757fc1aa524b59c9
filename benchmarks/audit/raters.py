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
from schemas.documents import ScoredRollout
from tasks.audit import statistics
from tasks.audit.gate import Probe, judge
from tasks.audit.sampling import AT_RANDOM, sample
from tasks.audit.sheet import audit_id
from tasks.audit.statistics import Interval, Numbers, measure

SHARES: Final = (0.20, 0.28, 0.21, 0.11, 0.20)
"""Shares of the scores 1 to 5, as on the shipped sheet."""
PER_PROMPT: Final = 4
ROLLOUTS: Final = (60, 8)
"""Prompts, and completions of each, that a sheet is drawn from."""
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
class Scenario:
    """Parameters of a simulated audit."""

    shape: str
    rho: float
    """True Spearman rho of rewards and scores."""
    prompt_share: float = 0.0
    """Share of a completion's worth, to people and to the reward, that is its prompt's."""
    drawn: bool = False
    """Whether the sheet is drawn from many rollouts, as `tucano audit sheet` does."""


@dataclass(frozen=True)
class Outcome:
    """Results of one simulated audit of one task."""

    covered: Mapping[str, bool]
    """Of each interval, the wider too."""
    passed: bool


def latent_correlation(shape: Callable[[Numbers], Numbers], rho: float) -> float:
    """Return the correlation of the normal numbers for which Spearman's rho of rewards and scores has the given value.

    Spearman's rho of a population is the correlation of both sides' middle ranks.

    Raises:
        ValueError: No correlation makes it so large: the reward ties too often.
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


def simulate(chunk: tuple[Scenario, int, int, int, tuple[int, ...]]) -> list[Outcome]:
    """Audit one simulated task many times: scenario, scored completions, audits, bootstrap resamples, seed."""
    scenario, scores, audits, resamples, seed = chunk
    # Fewer than an audit draws, which would take five times as long; the coverage is the same.
    statistics.RESAMPLES = resamples
    rng = np.random.default_rng(seed)
    correlation = latent_correlation(SHAPES[scenario.shape], scenario.rho)
    return [_audit(scenario, correlation, scores, rng) for _ in range(audits)]


def _audit(scenario: Scenario, correlation: float, scores: int, rng: np.random.Generator) -> Outcome:
    prompts, per_prompt = ROLLOUTS if scenario.drawn else (-(-scores // PER_PROMPT), PER_PROMPT)
    rewarded, worth = _places(prompts * per_prompt, correlation, scenario.prompt_share, per_prompt, rng)
    rewards = SHAPES[scenario.shape](rewarded)
    given = np.searchsorted(np.cumsum(SHARES)[:-1], worth) + 1
    prompt_ids = [f"p{row // per_prompt}" for row in range(len(rewards))]
    rows = dict.fromkeys(range(scores), True)
    if scenario.drawn:
        rows = _drawn(rewards, prompt_ids, scores, int(rng.integers(2**31)))
    chosen = list(rows)
    agreement = measure(
        [float(reward) for reward in rewards[chosen]],
        [{"r1": int(score)} for score in given[chosen]],
        [prompt_ids[row] for row in chosen],
        list(rows.values()),
        rng,
    )
    found = agreement.overall
    intervals = {
        "Bonett-Wright": found.bonett_wright,
        "BCa": found.bca,
        "wider": (found.rho_low or 0.0, found.rho_high or 0.0),
    }
    covered = {name: _holds(interval, scenario.rho) for name, interval in intervals.items()}
    return Outcome(covered, not judge("push", agreement, _PASSED, AuditConfig()).objections)


def _places(
    count: int, correlation: float, prompt_share: float, per_prompt: int, rng: np.random.Generator
) -> tuple[Numbers, Numbers]:
    """Return the completions' ranks by reward and by people, each evenly spread over [0, 1]."""
    from scipy.special import ndtr

    root = np.linalg.cholesky(np.array([[1, correlation], [correlation, 1]]))
    own = root @ rng.standard_normal((2, count))
    prompts = root @ np.repeat(rng.standard_normal((2, -(-count // per_prompt))), per_prompt, axis=1)[:, :count]
    worth = ndtr(np.sqrt(1 - prompt_share) * own + np.sqrt(prompt_share) * prompts)
    return worth[0], worth[1]


def _drawn(rewards: Numbers, prompt_ids: list[str], scores: int, seed: int) -> dict[int, bool]:
    """Return the rows that `tucano audit sheet` draws, and whether each was drawn at random."""
    rollouts = [
        ScoredRollout(
            prompt_id=prompt_id,
            task="push",
            prompt=prompt_id,
            completion=str(row),
            reward=float(rewards[row]),
            components={},
            parsed=None,
            spec="grounded",
            reward_version="simulated",
        )
        for row, prompt_id in enumerate(prompt_ids)
    ]
    rows = {audit_id(rollout): row for row, rollout in enumerate(rollouts)}
    return {rows[row["audit_id"]]: row["stratum"] == AT_RANDOM for row in sample(rollouts, scores, seed).rows}


def _holds(interval: Interval | None, rho: float) -> bool:
    return interval is not None and interval[0] <= rho <= interval[1]
