import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tasks.evaluate.stats.resampling import mean_interval, sign_flip, student_distance, widened
from tasks.evaluate.stats.statistics import rank_with_sign
from tasks.evaluate.stats.variance import Numbers


def crossed(rng: np.random.Generator, prompts: int, seeds: int, seed_spread: float) -> Numbers:
    """Differences whose mean over all prompts and trainings is 0."""
    by_seed = seed_spread * rng.normal(size=(1, seeds))
    return 0.2 * rng.normal(size=(prompts, 1)) + by_seed + 0.1 * rng.normal(size=(prompts, seeds))


def test_sign_flip_counts_ties_of_the_sum_as_extreme() -> None:
    # Of the 16 patterns of four equal gains, one sum is as high as the observed, and all are as low.
    assert sign_flip(np.full(4, 0.1), 10, np.random.default_rng(0)) == (1 / 16, 1.0)
    # In floating point 0.1 + 0.2 is not 0.3: the pattern that turns all signs still ties with this sum of 0.
    assert sign_flip(np.array([0.1, 0.2, -0.3]), 10, np.random.default_rng(0)) == (5 / 8, 5 / 8)


def test_sign_flip_by_monte_carlo_is_near_scipy_and_never_zero() -> None:
    values = np.round(np.random.default_rng(1).normal(0.08, 0.3, 65), 3)
    greater, less = sign_flip(values, 20_000, np.random.default_rng(0))
    expected = stats.permutation_test(
        (values,),
        np.mean,
        permutation_type="samples",
        alternative="greater",
        n_resamples=20_000,
        rng=np.random.default_rng(2),
    )
    assert greater == pytest.approx(expected.pvalue, abs=0.006)
    assert greater + less == pytest.approx(1, abs=1e-3)
    assert sign_flip(np.full(40, 0.2), 2_000, np.random.default_rng(0))[0] == pytest.approx(1 / 2_001)


@given(values=st.lists(st.integers(-1000, 1000), min_size=1, max_size=30), seed=st.integers(0, 99))
def test_sign_flip_of_the_models_exchanged_is_the_other_tail(values: list[int], seed: int) -> None:
    differences = np.array(values) / 1_000
    greater, less = sign_flip(differences, 500, np.random.default_rng(seed))
    assert sign_flip(-differences, 500, np.random.default_rng(seed)) == (less, greater)


def test_sign_flip_draws_every_resample_also_where_it_takes_several_turns() -> None:
    """No pattern of equal gains is higher than the observed, so that all resamples count for "less"."""
    assert sign_flip(np.full(40, 0.2), 12_000, np.random.default_rng(0)) == (1 / 12_001, 1.0)


def test_sign_flip_ignores_ties_between_the_models() -> None:
    values = np.array([0.3, -0.1, 0.2, 0.25])
    assert sign_flip(np.append(values, np.zeros(50)), 10, np.random.default_rng(0)) == sign_flip(
        values, 10, np.random.default_rng(0)
    )
    assert sign_flip(np.zeros(50), 10, np.random.default_rng(0)) == (1.0, 1.0)


def test_sign_flip_of_ranks_is_wilcoxon() -> None:
    differences = np.array([0.3, -0.1, 0.2, 0.2, 0.05, -0.02, 0.4, 0.1, -0.2, 0.0, 0.15])
    p, _ = sign_flip(rank_with_sign(differences), 10, np.random.default_rng(0))
    method = stats.PermutationMethod(n_resamples=4_096)
    assert p == pytest.approx(stats.wilcoxon(differences, alternative="greater", method=method).pvalue, abs=1e-12)


def test_the_level_is_widened_to_student_s_t() -> None:
    # A bootstrap of n normal values has the standard deviation sqrt((n - 1) / n) of what Student's t multiplies.
    for n_prompts in (5, 20, 100):
        quantile = stats.norm.ppf(widened(0.025, n_prompts)) * np.sqrt((n_prompts - 1) / n_prompts)
        assert quantile == pytest.approx(stats.t.ppf(0.025, n_prompts - 1))
    assert widened(0.05, 10**6) == pytest.approx(0.05, abs=1e-5)


def test_one_far_value_moves_the_end_on_its_side_only() -> None:
    differences = np.array([0.02] * 18 + [0.0, 0.9])[:, None]
    interval = mean_interval(differences, 20_000, np.random.default_rng(0))
    assert interval is not None
    expected = stats.ttest_1samp(differences[:, 0], 0).confidence_interval(0.95)
    assert interval.low == pytest.approx(expected.low)
    assert interval.high > expected.high + 0.05


def test_interval_covers_the_mean_of_bounded_tied_scores() -> None:
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(300):
        differences = rng.choice([0.0, 0.1, 0.25, -0.2, 0.6], (40, 1), p=[0.5, 0.2, 0.1, 0.15, 0.05])
        interval = mean_interval(differences, 1_000, rng)
        assert interval is not None
        covered += interval.low <= 0.045 <= interval.high
    assert 0.91 <= covered / 300 <= 0.98


@pytest.mark.parametrize("seed_spread", [0.0, 0.03])
def test_interval_covers_the_mean_over_new_trainings_too(seed_spread: float) -> None:
    rng = np.random.default_rng(5)
    intervals = [mean_interval(crossed(rng, 60, 3, seed_spread), 1_000, rng) for _ in range(200)]
    assert 0.91 <= np.mean([each is not None and each.low <= 0 <= each.high for each in intervals]) <= 0.995


def test_few_seeds_that_disagree_have_the_interval_of_student_s_t_over_the_seeds() -> None:
    # Prompts hardly differ, so this is the interval of three numbers: 4.30 standard errors, not 1.96.
    differences = np.array([-0.1, 0.0, 0.1]) + np.random.default_rng(6).normal(0, 0.001, (100, 3))
    interval = mean_interval(differences, 2_000, np.random.default_rng(0))
    assert interval is not None
    assert interval.high == pytest.approx(stats.t.ppf(0.975, 2) * 0.1 / np.sqrt(3), rel=0.01)
    assert interval.noninferiority_low == pytest.approx(stats.t.ppf(0.05, 2) * 0.1 / np.sqrt(3), rel=0.01)


def test_seeds_that_agree_have_the_interval_of_student_s_t_over_the_prompts() -> None:
    differences = np.random.default_rng(7).normal(0, 0.2, (30, 1)) + np.random.default_rng(8).normal(0, 0.001, (30, 3))
    expected = stats.t.ppf(0.975, 29) * differences.mean(axis=1).std(ddof=1) / np.sqrt(30)
    assert student_distance(differences, 0.025) == pytest.approx(expected, rel=1e-3)


def test_an_interval_stays_within_the_scores() -> None:
    interval = mean_interval(np.array([[0.9, -1.0], [1.0, -1.0], [1.0, -0.9]]), 2_000, np.random.default_rng(0))
    assert interval is not None
    assert (interval.low, interval.high) == (-1.0, 1.0)


def test_spread_that_prompts_and_seeds_hide_from_each_other_is_no_failure() -> None:
    # Every prompt and every seed has the same mean: the acceleration of the interval is 0 / 0.
    interval = mean_interval(np.array([[0.2, -0.2], [-0.2, 0.2]]), 2_000, np.random.default_rng(0))
    assert interval is not None
    assert interval.low < 0 < interval.high
    # Here the seeds differ, but by less than chance makes them.
    interval = mean_interval(np.array([[0.2, -0.2], [-0.19, 0.19]]), 2_000, np.random.default_rng(0))
    assert interval is not None
    assert interval.low < interval.high


def test_one_prompt_has_no_interval_and_equal_differences_are_a_point() -> None:
    assert mean_interval(np.array([[0.1, 0.4]]), 1_000, np.random.default_rng(0)) is None
    point = mean_interval(np.full((5, 2), 0.25), 1_000, np.random.default_rng(0))
    assert point is not None
    assert (point.low, point.high, point.noninferiority_low) == (0.25, 0.25, 0.25)
