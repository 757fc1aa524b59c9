import json
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.audit.statistics import Numbers, bca, bonett_wright, krippendorff_alpha, measure, pairwise_accuracy

pytestmark = pytest.mark.slow

SCORES = [1, 2, 3, 5, 4, 1, 5, 2, 3, 3, 4, 5] * 4


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def by_one(scores: Sequence[int]) -> list[dict[str, int]]:
    return [{"r1": score} for score in scores]


def numbers(*values: float) -> Numbers:
    return np.array(values, dtype=float)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 5)), min_size=2, max_size=30))
def test_pairs_are_counted_as_one_by_one(pairs: list[tuple[int, int]]) -> None:
    rewards, scores = numbers(*(reward for reward, _ in pairs)), numbers(*(score for _, score in pairs))
    alike = [np.sign(a[0] - b[0]) == np.sign(a[1] - b[1]) for a, b in combinations(pairs, 2)]
    assert pairwise_accuracy(rewards, scores) == pytest.approx(np.mean(alike))


def test_bonett_wright_matches_the_formula() -> None:
    # atanh(.8) = 1.09861; sqrt((1 + .64 / 2) / 37) = .18888; times 1.95996 = .37020; tanh of .72841 and of 1.46881.
    assert bonett_wright(0.8, 40) == pytest.approx((0.62209, 0.89935), abs=5e-5)
    # tanh(+- 1.95996 / sqrt(37)) = tanh(.32222)
    assert bonett_wright(0.0, 40) == pytest.approx((-0.31151, 0.31151), abs=5e-5)
    assert bonett_wright(1.0, 40) == (1.0, 1.0)
    assert bonett_wright(-1.0, 40) == (-1.0, -1.0)
    assert bonett_wright(0.5, 3) is None


def test_bootstrap_is_bias_corrected_and_accelerated() -> None:
    # One useless completion with the highest reward makes rho's distribution lean.
    scores = numbers(*SCORES[:24])
    rewards = scores / 5 + np.linspace(0, 0.1, 24)
    rewards[0] = 2
    # By formulas 14.9 to 14.15 of Efron and Tibshirani (1993), "An introduction to the bootstrap", from 40,000
    # resamples; their percentiles are 0.331 and 0.980.
    assert bca(rewards, scores, generator()) == pytest.approx((0.113, 0.978), abs=0.05)


def test_within_prompt_rho_is_the_mean_over_prompts_where_both_sides_vary() -> None:
    # p0: rho 1. p1: ranks 1 2 3 against 1 3 2, rho 1 - 6 * 2 / 24 = .5. p2's rewards and p3's scores are constant.
    rewards = [0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.4, 0.4, 0.4, 0.1, 0.2, 0.3]
    scores = [1, 2, 3, 1, 3, 2, 1, 2, 3, 4, 4, 4]
    prompt_ids = [f"p{row // 3}" for row in range(12)]
    found = measure(rewards, by_one(scores), prompt_ids, [True] * 12, generator())
    assert found.within_prompt_rho == pytest.approx(0.75)
    assert (found.prompt_groups, found.constant_groups) == (4, 1)


@pytest.mark.parametrize(
    ("given", "worst", "best"),
    [
        ({"a": 1}, 1, 0),
        ({"a": 1, "b": 2}, 1, 0),
        ({"a": 1, "b": 2, "c": 2}, 0, 0),
        ({"a": 5, "b": 5, "c": 4}, 0, 1),
        ({"a": 5, "b": 4}, 0, 1),
        ({"a": 1, "b": 5}, 1, 1),
    ],
)
def test_half_of_the_raters_make_a_completion_the_worst_or_the_best(
    given: dict[str, int], worst: int, best: int
) -> None:
    scores: list[dict[str, int]] = [{"a": 3}, {"a": 3}, {"a": 2}, given]
    at_the_top = measure([0.1, 0.2, 0.3, 1.0], scores, ["p"] * 4, [True] * 4, generator())
    assert (at_the_top.worst_in_top_quartile, at_the_top.best, at_the_top.best_without_reward) == (worst, best, 0)
    without = measure([0.1, 0.2, 0.3, 0.0], scores, ["p"] * 4, [True] * 4, generator())
    assert (without.worst_in_top_quartile, without.best, without.best_without_reward) == (0, best, best)


def test_alpha_is_that_of_krippendorffs_example() -> None:
    # Krippendorff (2011), "Computing Krippendorff's alpha-reliability": four observers, twelve units, ordinal .815.
    table = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
    observers = {f"r{row}": line for row, line in enumerate(table)}
    scores = [{rater: int(line[unit]) for rater, line in observers.items() if line[unit] != "."} for unit in range(12)]
    assert krippendorff_alpha(scores) == pytest.approx(0.815, abs=5e-4)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.3, 1.0]), st.integers(1, 5)), min_size=1, max_size=12))
def test_every_number_is_finite_and_in_range(pairs: list[tuple[float, int]]) -> None:
    rewards, scores = zip(*pairs, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prompts = [f"p{row // 4}" for row in range(len(pairs))]
        found = measure(rewards, by_one(scores), prompts, [True] * len(pairs), generator())
    json.dumps(asdict(found), allow_nan=False)
    overall = found.overall
    if overall.rho is not None and overall.rho_low is not None and overall.rho_high is not None:
        assert -1 <= overall.rho_low <= overall.rho + 1e-9
        assert overall.rho - 1e-9 <= overall.rho_high <= 1
    assert 0 <= (found.pairwise_accuracy or 0) <= 1
    assert found.constant_groups <= found.prompt_groups
    assert found.best_without_reward <= found.best
