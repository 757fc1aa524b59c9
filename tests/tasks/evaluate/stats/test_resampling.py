import numpy as np
import pytest
from scipy import stats

from tasks.evaluate.stats.resampling import mean_interval, sign_flip


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


def test_few_seeds_that_disagree_have_the_interval_of_student_s_t_over_the_seeds() -> None:
    # Prompts hardly differ, so this is the interval of three numbers: 4.30 standard errors, not 1.96.
    differences = np.array([-0.1, 0.0, 0.1]) + np.random.default_rng(6).normal(0, 0.001, (100, 3))
    interval = mean_interval(differences, 2_000, np.random.default_rng(0))
    assert interval is not None
    assert interval.high == pytest.approx(stats.t.ppf(0.975, 2) * 0.1 / np.sqrt(3), rel=0.01)
    assert interval.noninferiority_low == pytest.approx(stats.t.ppf(0.05, 2) * 0.1 / np.sqrt(3), rel=0.01)


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
