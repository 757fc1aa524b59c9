"""The statistics against other people's: published numbers, and packages that share no code with what they check."""

import numpy as np
import pytest
from arch.bootstrap import IIDBootstrap
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.multitest import multipletests

from schemas.tasks import TASK_NAMES
from tasks.evaluate.stats.resampling import mean_interval, widened
from tasks.evaluate.stats.statistics import holm, measure
from tasks.evaluate.stats.variance import Numbers, mean_squares

pytestmark = pytest.mark.slow

# Hollander and Wolfe (1973), p. 29: Hamilton depression scores before and after a tranquilliser; R's ?wilcox.test.
BEFORE = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
AFTER = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])


def bounded(seed: int, prompts: int) -> Numbers:
    """Differences of scores in twentieths, many of them 0."""
    rng = np.random.default_rng(seed)
    base, tuned = (np.where(rng.random(prompts) < 0.3, 0, rng.integers(0, 21, prompts)) / 20 for _ in range(2))
    return np.round(tuned - base, 9)


def test_wilcoxon_of_the_depression_scores() -> None:
    block = measure(AFTER[:, None], BEFORE[:, None], margin=0.05, resamples=1_000, rng=np.random.default_rng(0))
    # R: wilcox.test(x, y, paired = TRUE, alternative = "greater") says V = 40, p-value = 0.01953, which is 10 / 512.
    assert block.p_wilcoxon == pytest.approx(10 / 512, abs=1e-12)
    assert block.p_wilcoxon == pytest.approx(0.01953, abs=5e-6)


@pytest.mark.parametrize(
    "p_values", [(0.04,), (0.01, 0.04, 0.03, 0.005), (0.02, 0.02, 0.9, 0.3, 0.001, 0.011), (0.6, 0.5)]
)
def test_holm_is_that_of_statsmodels(p_values: tuple[float, ...]) -> None:
    ours = holm(dict(zip(TASK_NAMES, p_values, strict=False)))
    theirs = multipletests(p_values, method="holm")[1]
    assert list(ours.values()) == pytest.approx(list(theirs), abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-20, 20), min_size=2, max_size=11).filter(any))
def test_enumerated_tests_are_those_of_scipy(twentieths: list[int]) -> None:
    # With ties and zeros. scipy enumerates the sums afresh, and its Wilcoxon drops zeros as ours does.
    differences = np.array(twentieths) / 20
    block = measure(
        np.full((len(differences), 1), 0.5),
        0.5 + differences[:, None],
        margin=0.05,
        resamples=1_000,
        rng=np.random.default_rng(0),
    )
    exact = {"permutation_type": "samples", "n_resamples": 2**11}
    # Of whole numbers, whose sums scipy compares exactly.
    greater = stats.permutation_test((np.array(twentieths),), np.sum, alternative="greater", **exact).pvalue
    less = stats.permutation_test((np.array(twentieths),), np.sum, alternative="less", **exact).pvalue
    assert (block.p_signflip, block.p_harm) == pytest.approx((greater, less), abs=1e-6)


@pytest.mark.parametrize(("seed", "prompts"), [(1, 20), (2, 65), (3, 240)])
def test_the_interval_is_the_bca_interval_of_arch_or_students_where_that_is_wider(seed: int, prompts: int) -> None:
    differences = bounded(seed, prompts)
    interval = mean_interval(differences[:, None], 40_000, np.random.default_rng(0))
    assert interval is not None
    level = 1 - 2 * widened(0.025, prompts)
    low, high = IIDBootstrap(differences, seed=np.random.default_rng(seed)).conf_int(
        np.mean, 40_000, method="bca", size=level
    )[:, 0]
    student = stats.ttest_1samp(differences, 0).confidence_interval(0.95)
    expected = min(low, student.low), max(high, student.high)
    # A quantile this far out has a Monte-Carlo error of about .02 standard errors with 40,000 resamples.
    assert (interval.low, interval.high) == pytest.approx(expected, abs=0.08 * differences.std() / np.sqrt(prompts))


def test_mean_squares_are_those_of_the_analysis_of_variance() -> None:
    rng = np.random.default_rng(5)
    differences = rng.normal(size=(12, 1)) + rng.normal(size=(1, 4)) + rng.normal(size=(12, 4))
    prompt, seed = np.indices(differences.shape).reshape(2, -1)
    fit = ols("y ~ C(prompt) + C(seed)", {"y": differences.ravel(), "prompt": prompt, "seed": seed}).fit()
    table = anova_lm(fit)["mean_sq"]
    ours = mean_squares(differences)
    assert (ours.prompt, ours.seed, ours.rest) == pytest.approx(tuple(table), abs=1e-9)
