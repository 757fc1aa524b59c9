import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.tasks import TASK_NAMES
from tasks.evaluate.stats.statistics import PairedStats, correct, judge, measure
from tasks.evaluate.stats.variance import MeanVariance, Numbers, prompts_needed


def measured(base: Numbers, tuned: Numbers, margin: float = 0.05, seed: int = 0) -> PairedStats:
    return measure(base, tuned, margin=margin, resamples=2_000, rng=np.random.default_rng(seed))


def block_of(differences: list[float], margin: float = 0.05, base: float = 0.5) -> PairedStats:
    scores = np.full((len(differences), 1), base)
    return measured(scores, scores + np.array(differences)[:, None], margin)


def test_a_bound_that_is_reached_is_not_passed() -> None:
    shown = block_of(list(np.tile([0.08, 0.12], 20)))
    assert judge(shown, 0.05) == "better"
    at_zero = replace(shown, ci_low=0.0)
    assert judge(at_zero, 0.05) == "non-inferior"
    assert judge(replace(at_zero, noninferiority_low=-0.05), 0.05) == "inconclusive"


def test_verdicts() -> None:
    noise = np.tile([0.02, -0.02], 20)
    assert block_of(list(noise + 0.1)).verdict == "better"
    assert block_of(list(noise - 0.1)).verdict == "worse"
    assert block_of(list(noise)).verdict == "non-inferior"
    assert block_of(list(noise * 20)).verdict == "inconclusive"


def test_interval_must_agree_with_the_test_for_better() -> None:
    # One large loss among 20: the test alone would call this better, the skewed interval says it may be luck.
    block = block_of([0.05] * 19 + [-0.25])
    assert block.p_signflip < 0.05
    assert block.verdict != "better"


def test_correction_can_take_a_verdict_away() -> None:
    alone, noise = block_of([0.1, 0.12, 0.09, 0.2, 0.05, 0.1, 0.1]), block_of([0.4, -0.4] * 10)
    margins = dict.fromkeys(TASK_NAMES, 0.05)
    assert correct({"extraction": alone}, margins)["extraction"] == alone
    weak = replace(alone, p_signflip=0.02)
    found = correct({"extraction": weak, "sql_qa": noise, "push": noise}, margins)["extraction"]
    assert (alone.verdict, found.verdict) == ("better", "non-inferior")
    assert found.p_holm == pytest.approx(0.06)


def test_equal_scores_and_single_prompts_are_inconclusive() -> None:
    ties = block_of([0.0] * 40)
    assert (ties.verdict, ties.n_nonzero, ties.p_tie, ties.p_signflip) == ("inconclusive", 0, 1.0, 1.0)
    assert (ties.ci_low, ties.ci_high) == (0.0, 0.0)
    single = block_of([0.4])
    assert single.verdict == "inconclusive"
    assert single.ci_low is single.noninferiority_low is single.mde is single.n_for_margin is None


DIFFERENCES = st.sampled_from([-1.0, -0.5, -0.1, 0.0, 0.1, 0.3, 1.0])


@settings(max_examples=80, deadline=None)
@given(
    st.integers(1, 3).flatmap(
        lambda n_seeds: st.lists(st.lists(DIFFERENCES, min_size=n_seeds, max_size=n_seeds), min_size=1, max_size=20)
    ),
    st.integers(0, 9),
)
def test_every_number_is_finite_and_consistent(differences: list[list[float]], seed: int) -> None:
    by_seed = np.array(differences)
    base = np.where(by_seed >= 0, 0.0, 1.0)
    tuned: Numbers = base + by_seed
    block = measured(base, tuned, seed=seed)
    json.dumps(asdict(block), allow_nan=False)
    assert (block.n_prompts, block.n_seeds) == by_seed.shape
    assert block.p_win + block.p_tie + block.p_loss == pytest.approx(1)
    assert block.n_nonzero == np.count_nonzero(by_seed.mean(axis=1).round(9))
    assert math.isclose(block.mean_tuned - block.mean_base, block.mean_difference, abs_tol=1e-8)
    if block.ci_low is not None and block.ci_high is not None and block.noninferiority_low is not None:
        assert -1 <= block.ci_low <= block.noninferiority_low + 1e-9
        assert block.ci_low - 1e-9 <= block.mean_difference <= block.ci_high + 1e-9 <= 1 + 2e-9
    mirrored = measured(tuned, base, seed=seed)
    assert mirrored.mean_difference == pytest.approx(-block.mean_difference)
    assert (mirrored.p_win, mirrored.p_loss) == (block.p_loss, block.p_win)
    # Up to sixteen prompts are enumerated, so that nothing but rounding may differ.
    assert len(by_seed) > 16 or mirrored.p_harm == pytest.approx(block.p_signflip, abs=1e-12)
    assert {block.verdict, mirrored.verdict} != {"better"}


@pytest.mark.parametrize(
    ("base", "margin", "prompts"), [(1.0, 0.05, 59), (0.5, 0.05, 29), (0.0, 0.05, 2), (1.0, 0.1, 29)]
)
def test_ties_exclude_a_loss_only_on_many_prompts(base: float, margin: float, prompts: int) -> None:
    scores = np.full((5, 1), base)
    block = measure(scores, scores, margin=margin, resamples=1_000, rng=np.random.default_rng(0))
    assert (block.n_for_margin, block.verdict) == (prompts, "inconclusive")
    # The loss that so many prompts can have missed with a probability of .05 is the margin.
    assert prompts == 2 or (1 - margin / base) ** prompts <= 0.05 < (1 - margin / base) ** (prompts - 1)


def test_the_prompts_of_an_effect_are_the_textbooks_and_none_make_good_seeds_that_spread_too_widely() -> None:
    # (1.645 + 0.842)^2 .30^2 / .05^2 = 222.6
    assert prompts_needed(MeanVariance(per_prompt=0.09, shared=0.0), 0.05) == 223
    assert prompts_needed(MeanVariance(per_prompt=0.09, shared=0.01), 0.1) is None
