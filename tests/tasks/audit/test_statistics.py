import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tasks.audit import statistics
from tasks.audit.statistics import Agreement, Numbers, bca, bonett_wright, measure, pairwise_accuracy, within_prompt_rho


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def agreement(rewards: list[float], scores: list[int]) -> Agreement:
    prompt_ids = [f"p{row // 4}" for row in range(len(scores))]
    return measure(rewards, scores, prompt_ids, ["r1"] * len(scores), generator())


def noisy_rewards(scores: list[int], noise: float) -> list[float]:
    return [float(value) for value in np.clip(np.array(scores) / 5 + generator(1).normal(0, noise, len(scores)), 0, 1)]


SCORES = [1, 2, 3, 5, 4, 1, 5, 2, 3, 3, 4, 5] * 4


def test_numbers_are_scipys() -> None:
    rewards = noisy_rewards(SCORES, 0.15)
    found = agreement(rewards, SCORES)
    assert found.rho == pytest.approx(stats.spearmanr(rewards, SCORES).statistic)
    assert found.tau_b == pytest.approx(stats.kendalltau(rewards, SCORES).statistic)
    assert (found.n, found.n_raters, found.alpha) == (48, 1, None)


def test_interval_is_the_wider_of_the_two_at_each_end() -> None:
    rewards = noisy_rewards(SCORES, 0.15)
    found = agreement(rewards, SCORES)
    assert found.rho is not None
    assert found.rho_low is not None
    assert found.rho_high is not None
    analytic = bonett_wright(found.rho, 48)
    resampled = bca(np.array(rewards), np.array(SCORES, dtype=float), generator())
    assert analytic is not None
    assert resampled is not None
    assert found.rho_low == pytest.approx(min(analytic[0], resampled[0]), abs=1e-6)
    assert found.rho_high == pytest.approx(max(analytic[1], resampled[1]), abs=1e-6)
    assert found.rho_low < found.rho < found.rho_high


def test_bonett_wright_matches_the_formula() -> None:
    # atanh(.8) = 1.0986; sqrt((1 + .32) / 37) = .18888; times 1.95996 = .37020; tanh(.7284), tanh(1.4688).
    assert bonett_wright(0.8, 40) == pytest.approx((0.62200, 0.89920), abs=2e-4)
    assert bonett_wright(1.0, 40) == (1.0, 1.0)
    assert bonett_wright(0.5, 3) is None


def test_bootstrap_is_scipys_on_the_rows() -> None:
    rewards, scores = noisy_rewards(SCORES, 0.3), SCORES
    found = bca(np.array(rewards), np.array(scores, dtype=float), generator())

    def rho(rows: Numbers) -> float:
        chosen = rows.astype(int)
        return float(stats.spearmanr(np.array(rewards)[chosen], np.array(scores)[chosen]).statistic)

    rows = np.arange(48, dtype=float)
    plain = stats.bootstrap((rows,), rho, n_resamples=1_000, vectorized=False, rng=generator(3)).confidence_interval
    assert found == pytest.approx((plain.low, plain.high), abs=0.06)


@pytest.mark.parametrize(("rewards", "scores"), [([0.5] * 48, SCORES), ([0.1, 0.7] * 24, [3] * 48)])
def test_constants_agree_with_nothing(rewards: list[float], scores: list[int]) -> None:
    found = agreement(rewards, scores)
    assert found.rho is found.rho_low is found.rho_high is found.tau_b is found.within_prompt_rho is None


def test_perfect_and_inverse_agreement() -> None:
    found = agreement([score / 5 for score in SCORES], SCORES)
    assert (found.rho, found.rho_low, found.tau_b, found.pairwise_accuracy) == pytest.approx((1, 1, 1, 1))
    assert found.within_prompt_rho == pytest.approx(1)
    inverse = agreement([1 - score / 5 for score in SCORES], SCORES)
    assert (inverse.rho, inverse.tau_b) == pytest.approx((-1, -1))


def test_pairwise_accuracy_credits_a_tie_only_where_both_tie() -> None:
    # Pairs: (1,2) tied in both; (1,3) and (2,3) ordered alike; a reward that splits the tie loses one pair of three.
    assert pairwise_accuracy(np.array([0.2, 0.2, 0.9]), np.array([1.0, 1.0, 3.0])) == 1
    assert pairwise_accuracy(np.array([0.2, 0.3, 0.9]), np.array([1.0, 1.0, 3.0])) == pytest.approx(2 / 3)
    assert pairwise_accuracy(np.array([0.5, 0.5, 0.5]), np.array([1.0, 1.0, 3.0])) == pytest.approx(1 / 3)


def test_agreement_across_prompts_is_not_agreement_within_them() -> None:
    # Easy prompts score high and hard ones low, but within each prompt the reward prefers the worse completion.
    rewards = np.array([0.12, 0.11, 0.10, 0.92, 0.91, 0.90, 0.5])
    scores = np.array([1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 3.0])
    found = within_prompt_rho(rewards, scores, ["hard"] * 3 + ["easy"] * 3 + ["alone"])
    assert found == pytest.approx(-1)
    assert (statistics.spearman(rewards, scores) or 0) > 0.3
    assert within_prompt_rho(rewards, scores, list("abcdefg")) is None


def test_rounding_errors_do_not_order_equal_rewards() -> None:
    assert agreement([0.1 + 0.2, 0.3] * 24, SCORES).rho is None


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.3, 1.0]), st.integers(1, 5)), min_size=1, max_size=12))
def test_every_number_is_finite_and_in_range(pairs: list[tuple[float, int]]) -> None:
    found = agreement([reward for reward, _ in pairs], [score for _, score in pairs])
    json.dumps(asdict(found), allow_nan=False)
    if found.rho is not None and found.rho_low is not None and found.rho_high is not None:
        assert -1 <= found.rho_low <= found.rho + 1e-9
        assert found.rho - 1e-9 <= found.rho_high <= 1
