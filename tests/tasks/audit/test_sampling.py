import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean

import pytest

from schemas.documents import ScoredRollout
from tasks.audit.sampling import AT_RANDOM, BY_REWARD, sample
from tasks.audit.sheet import COLUMNS, Row, audit_id


def scored(prompt_id: str, completion: str, reward: float) -> ScoredRollout:
    return ScoredRollout(
        prompt_id=prompt_id,
        task="push",
        prompt=f"Crie um push para {prompt_id}",
        completion=completion,
        reward=reward,
        components={"tone": reward},
        parsed=None,
        spec="grounded",
        reward_version="v",
    )


def spread(place: float) -> float:
    return place


def pool(prompts: int, of_each: int, reward: Callable[[float], float] = spread) -> list[ScoredRollout]:
    """Return completions whose places in the reward's order are spread evenly over [0, 1), and over the prompts."""
    places = random.Random(0).sample(range(prompts * of_each), prompts * of_each)
    return [
        scored(f"p{row // of_each}", f"texto {row}", reward(place / len(places))) for row, place in enumerate(places)
    ]


def of_rows(rows: Sequence[Row], rollouts: Sequence[ScoredRollout]) -> list[ScoredRollout]:
    known = {audit_id(rollout): rollout for rollout in rollouts}
    return [known[row["audit_id"]] for row in rows]


def test_half_is_at_random_and_half_by_reward() -> None:
    found = sample(pool(30, 8), 40, 0)
    assert Counter(row["stratum"] for row in found.rows) == {AT_RANDOM: 20, BY_REWARD: 20}
    assert (found.drawn, found.too_long, found.alone) == ({"push": 40}, 0, ())
    assert found == sample(pool(30, 8), 40, 0) != sample(pool(30, 8), 40, 1)
    of_prompt = Counter(row["prompt_id"] for row in found.rows if row["stratum"] == AT_RANDOM)
    assert set(of_prompt.values()) == {4}
    odd = sample(pool(30, 8), 41, 0)
    assert Counter(row["stratum"] for row in odd.rows) == {AT_RANDOM: 21, BY_REWARD: 20}


@pytest.mark.parametrize(
    "reward",
    [
        spread,
        lambda place: max(0.0, (place - 0.85) / 0.15),
        lambda place: min(1.0, place / 0.1),
        lambda place: int(6 * place) / 5,
        lambda place: float(place > 0.99),
        lambda place: 0.5,
    ],
    ids=["continuous", "many zeros", "many maxima", "six levels", "hardly a success", "constant"],
)
def test_zeros_maxima_and_each_decile_are_on_the_sheet(reward: Callable[[float], float]) -> None:
    rollouts = pool(60, 8, reward)
    levels = sorted(rollout.reward for rollout in rollouts)

    def decile(rollout: ScoredRollout) -> int:
        return bisect_left(levels, rollout.reward) * 10 // len(levels)

    for seed in range(20):
        on_sheet = of_rows(sample(rollouts, 40, seed).rows, rollouts)
        assert {decile(rollout) for rollout in on_sheet} == {decile(rollout) for rollout in rollouts}
        assert min(rollout.reward for rollout in on_sheet) == levels[0]
        assert max(rollout.reward for rollout in on_sheet) == levels[-1]


def test_the_sheet_does_not_tell_the_reward() -> None:
    rollouts = pool(30, 8, lambda place: 0.123 + place / 2)
    rewards = {f"{rollout.reward}" for rollout in rollouts} | {f"{rollout.reward:.3f}" for rollout in rollouts}
    places = []
    for seed in range(40):
        rows = sample(rollouts, 40, seed).rows
        assert {tuple(row) for row in rows} == {COLUMNS}
        assert {row["stratum"] for row in rows} == {AT_RANDOM, BY_REWARD}
        assert not any(reward in cell for row in rows for cell in row.values() for reward in rewards)
        assert all(row["human_score"] == row["rater"] == row["rater_kind"] == row["notes"] == "" for row in rows)
        order = of_rows(rows, rollouts)
        places += [(place, rollout.reward) for place, rollout in enumerate(order)]
    # Over forty sheets: were the rows in any order of the reward, its mean would differ between their halves.
    first = fmean(reward for place, reward in places if place < 20)
    second = fmean(reward for place, reward in places if place >= 20)
    assert first == pytest.approx(second, abs=0.05)
