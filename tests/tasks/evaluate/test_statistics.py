import json
import math
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from schemas.tasks import TASK_NAMES
from tasks.evaluate.statistics import (
    Block,
    Numbers,
    correct,
    hodges_lehmann,
    holm,
    mean_interval,
    measure,
    rank_with_sign,
    sign_flip,
)


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def block_of(differences: list[float], margin: float = 0.05, base: float = 0.5) -> Block:
    scores = np.full(len(differences), base)
    return measure(scores, scores + np.array(differences), n_seeds=1, margin=margin, resamples=2_000, rng=generator())


def test_sign_flip_enumerates_all_patterns_of_few_differences() -> None:
    values = np.array([0.3, -0.1, 0.2, 0.25, 0.05, -0.02, 0.4])
    greater, less = sign_flip(values, 10, generator())
    enumerated = stats.permutation_test((values,), np.mean, permutation_type="samples", alternative="greater")
    assert greater == pytest.approx(enumerated.pvalue, abs=1e-12)
    enumerated = stats.permutation_test((values,), np.mean, permutation_type="samples", alternative="less")
    assert less == pytest.approx(enumerated.pvalue, abs=1e-12)


def test_sign_flip_counts_ties_of_the_sum_as_extreme() -> None:
    # Of the 16 patterns of four equal gains, one sum is as high as the observed, and all are as low.
    assert sign_flip(np.full(4, 0.1), 10, generator()) == (1 / 16, 1.0)
    # In floating point 0.1 + 0.2 is not 0.3: the pattern that turns all signs still ties with this sum of 0.
    assert sign_flip(np.array([0.1, 0.2, -0.3]), 10, generator()) == (5 / 8, 5 / 8)


def test_sign_flip_by_monte_carlo_is_near_scipy_and_never_zero() -> None:
    values = np.round(generator(1).normal(0.08, 0.3, 65), 3)
    greater, less = sign_flip(values, 20_000, generator())
    expected = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", alternative="greater", n_resamples=20_000, rng=generator(2)
    )
    assert greater == pytest.approx(expected.pvalue, abs=0.006)
    assert greater + less == pytest.approx(1, abs=1e-3)
    assert sign_flip(np.full(40, 0.2), 2_000, generator())[0] == pytest.approx(1 / 2_001)


def test_sign_flip_ignores_ties_between_the_models() -> None:
    values = np.array([0.3, -0.1, 0.2, 0.25])
    assert sign_flip(np.append(values, np.zeros(50)), 10, generator()) == sign_flip(values, 10, generator())
    assert sign_flip(np.zeros(50), 10, generator()) == (1.0, 1.0)


def test_sign_flip_of_ranks_is_wilcoxon() -> None:
    differences = np.array([0.3, -0.1, 0.2, 0.2, 0.05, -0.02, 0.4, 0.1, -0.2, 0.0, 0.15])
    p, _ = sign_flip(rank_with_sign(differences), 10, generator())
    method = stats.PermutationMethod(n_resamples=4_096)
    assert p == pytest.approx(stats.wilcoxon(differences, alternative="greater", method=method).pvalue, abs=1e-12)


def test_interval_agrees_with_the_normal_one_where_that_is_right() -> None:
    differences = generator(3).normal(0.1, 0.3, 400)
    low, high, one_sided = mean_interval(differences, 10_000, generator())
    half = 1.96 * differences.std(ddof=1) / 20
    assert low == pytest.approx(differences.mean() - half, abs=0.002)
    assert high == pytest.approx(differences.mean() + half, abs=0.002)
    assert one_sided == pytest.approx(differences.mean() - 1.645 / 1.96 * half, abs=0.002)


def test_interval_covers_the_mean_of_bounded_tied_scores() -> None:
    rng = generator(4)
    covered = 0
    for _ in range(300):
        differences = rng.choice([0.0, 0.1, 0.25, -0.2, 0.6], 40, p=[0.5, 0.2, 0.1, 0.15, 0.05])
        low, high, _ = mean_interval(differences, 1_000, rng)
        assert low is not None
        assert high is not None
        covered += low <= 0.045 <= high
    assert 0.91 <= covered / 300 <= 0.98


def test_hodges_lehmann_is_the_median_of_the_pairwise_means() -> None:
    assert hodges_lehmann(np.array([0.0, 1.0, 5.0])) == pytest.approx(1.75)


def test_holm_matches_the_published_steps() -> None:
    corrected = holm({"extraction": 0.01, "sql_qa": 0.04, "insights": 0.03, "push": 0.005})
    assert corrected == pytest.approx({"extraction": 0.03, "sql_qa": 0.06, "insights": 0.06, "push": 0.02})


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_holm_never_helps_and_keeps_the_order(p_values: list[float]) -> None:
    raw = dict(zip(TASK_NAMES, p_values, strict=False))
    corrected = holm(raw)
    assert list(corrected) == list(raw)
    assert all(p <= corrected[task] <= 1 for task, p in raw.items())
    by_p = [corrected[task] for task in sorted(raw, key=lambda task: raw[task])]
    assert by_p == sorted(by_p)


def test_planning_numbers_are_those_measured_for_the_source_project() -> None:
    # Standard deviation .30: a detectable effect of .093 with 65 prompts; 223 prompts for a margin of .05.
    spread = np.tile([0.3, -0.3], 33)[:65].astype(np.float64)
    spread *= 0.3 / spread.std(ddof=1)
    block = block_of(list(spread))
    assert block.mde == pytest.approx(0.0925, abs=1e-3)
    assert block.n_for_margin == 223


def test_verdicts() -> None:
    noise = np.tile([0.02, -0.02], 20)
    assert block_of(list(noise + 0.1)).verdict == "better"
    assert block_of(list(noise - 0.1)).verdict == "worse"
    assert block_of(list(noise)).verdict == "non-inferior"
    assert block_of(list(noise * 20)).verdict == "inconclusive"


def test_many_small_gains_with_a_few_large_losses_are_not_better() -> None:
    block = block_of([0.05] * 52 + [-0.25] * 13)
    assert block.mean_difference == pytest.approx(-0.01)
    assert block.p_wilcoxon < 0.05
    assert block.verdict != "better"


def test_interval_must_agree_with_the_test_for_better() -> None:
    # One large loss among 20: the test alone would call this better, the skewed interval says it may be luck.
    block = block_of([0.05] * 19 + [-0.25])
    assert block.p_signflip < 0.05
    assert block.verdict != "better"


def test_correction_can_take_a_verdict_away() -> None:
    alone = block_of([0.1, 0.12, 0.09, 0.2, 0.05, 0.1, 0.1])
    assert alone.verdict == "better"
    noise = block_of([0.4, -0.4] * 10)
    tasks = correct({"extraction": alone, "sql_qa": noise, "push": noise, "churn": noise, "insights": noise}, 0.05)
    assert tasks["extraction"].p_holm == pytest.approx(5 * alone.p_signflip)
    assert correct({"extraction": alone}, 0.05)["extraction"] == alone
    ten = correct({"extraction": replace_p(alone, 0.02), "sql_qa": noise, "push": noise}, 0.05)
    assert ten["extraction"].verdict == "non-inferior"


def replace_p(block: Block, p: float) -> Block:
    return Block(**{**asdict(block), "p_signflip": p})


def test_equal_scores_and_single_prompts_are_inconclusive() -> None:
    ties = block_of([0.0] * 40)
    assert (ties.verdict, ties.n_nonzero, ties.p_tie, ties.p_signflip) == ("inconclusive", 0, 1.0, 1.0)
    assert (ties.ci_low, ties.ci_high, ties.rank_biserial) == (0.0, 0.0, 0.0)
    single = block_of([0.4])
    assert single.verdict == "inconclusive"
    assert single.ci_low is single.noninferiority_low is single.mde is single.n_for_margin is None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([-1.0, -0.5, -0.1, 0.0, 0.1, 0.3, 1.0]), min_size=1, max_size=25), st.integers(0, 9))
def test_every_number_is_finite_and_consistent(differences: list[float], seed: int) -> None:
    base = np.array([0.0 if value >= 0 else 1.0 for value in differences])
    tuned: Numbers = base + np.array(differences)
    block = measure(base, tuned, n_seeds=1, margin=0.05, resamples=1_000, rng=generator(seed))
    json.dumps(asdict(block), allow_nan=False)
    assert block.p_win + block.p_tie + block.p_loss == pytest.approx(1)
    assert block.n_nonzero == sum(value != 0 for value in differences)
    assert math.isclose(block.mean_tuned - block.mean_base, block.mean_difference, abs_tol=1e-8)
    if block.ci_low is not None and block.ci_high is not None and block.noninferiority_low is not None:
        assert block.ci_low - 1e-9 <= block.noninferiority_low
        assert block.ci_low - 1e-9 <= block.mean_difference <= block.ci_high + 1e-9
    mirrored = measure(tuned, base, n_seeds=1, margin=0.05, resamples=1_000, rng=generator(seed))
    assert mirrored.mean_difference == pytest.approx(-block.mean_difference)
    assert mirrored.rank_biserial == pytest.approx(-block.rank_biserial)
    assert {block.verdict, mirrored.verdict} != {"better"}


def test_same_seed_same_numbers() -> None:
    differences = list(np.round(generator(7).normal(0.05, 0.3, 65), 4))
    assert block_of(differences) == block_of(differences)
