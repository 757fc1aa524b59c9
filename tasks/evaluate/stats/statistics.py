"""Paired statistics of base against tuned: one difference per prompt, every number with its uncertainty.

The unit of the tests is the prompt: its samples and training seeds are averaged, because answers to one prompt are not
independent. So a test generalizes to new prompts, for the seeds that were run. The interval and the planning generalize
to new trainings too if there are several seeds.

The primary test is sign-flip permutation on the mean difference. Wilcoxon's signed-rank test is reported beside it
because the source project used it: it is no test of the mean, and calls many small gains with a few large losses an
improvement.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np

from schemas.tasks import TaskName
from tasks.evaluate.stats.resampling import mean_interval, sign_flip
from tasks.evaluate.stats.variance import ALPHA, Numbers, detectable_effect, mean_variance, prompts_needed

Verdict = Literal[
    "better",
    "non-inferior",
    "worse",
    "inconclusive",
    "no better",
    "below floor",
    "collapsed",
    "not learned",
]
"""The last four are of `tasks.evaluate.claims`: what is known beside the scores."""
HALF: Final = 0.5
"""Share of the base's score from which on a margin hides the loss of most of what it can do."""


@dataclass(frozen=True)
class PairedStats:
    """Statistics of one difference, over all prompts or those of one task; part of `report.json`.

    An interval and anything derived from the spread are None for one prompt, which is no basis for others. A prompt's
    difference is its mean over samples and training seeds.
    """

    n_prompts: int
    n_seeds: int
    n_nonzero: int
    """Prompts on which the two models' scores differ."""
    mean_base: float
    mean_tuned: float
    mean_difference: float
    ci_low: float | None
    """Lower end of the two-sided 95 % BCa interval of the mean difference, see `resampling.mean_interval`."""
    ci_high: float | None
    p_win: float
    """Share of prompts on which the tuned model scores higher."""
    p_tie: float
    p_loss: float
    p_signflip: float
    """One-sided p of the sign-flip test that the mean difference is greater than 0."""
    p_wilcoxon: float
    """One-sided p of Wilcoxon's signed-rank test, by permutation."""
    p_harm: float
    """One-sided p of the sign-flip test that the mean difference is less than 0."""
    p_holm: float
    """`p_signflip` after Holm's correction over the tasks; overall it is one test and stays unchanged."""
    noninferiority_low: float | None
    """One-sided 95 % BCa lower bound of the mean difference, to compare with the margin."""
    mde: float | None
    """Minimum detectable effect: the true difference found with power .80 by a one-sided test at .05."""
    n_for_margin: int | None
    """Prompts with which equally good models would be found non-inferior with power .80; with several seeds None if
    their spread is so wide that it takes more trainings instead. If all prompts have one difference, see
    `prompts_without_spread`."""
    verdict: Verdict

    @property
    def shows_gain(self) -> bool:
        """Return whether a gain is shown, by the test before any correction and by the interval."""
        return self.p_signflip < ALPHA and self.ci_low is not None and self.ci_low > 0

    def margin_is_wide(self, margin: float) -> bool:
        """Return whether a margin is more than half of the base's score, so that within it most could be lost."""
        return margin > HALF * self.mean_base


@dataclass(frozen=True)
class Blocks:
    """Statistics of one kind of score."""

    overall: PairedStats
    """Over all prompts equally. Tasks are not strata here, which makes the interval wider rather than narrower."""
    tasks: Mapping[TaskName, PairedStats]
    margins: Mapping[TaskName, float] = field(default_factory=dict)
    """The largest acceptable loss of each task, where each has one of its own."""


def measure(base: Numbers, tuned: Numbers, *, margin: float, resamples: int, rng: np.random.Generator) -> PairedStats:
    """Compute every number of one block, with `p_holm` as if it were the only test.

    Scores are in [0, 1], of shape (prompts, training seeds), each the mean over the samples; a base that was scored
    once is repeated over the seeds.
    """
    by_seed = np.round(tuned - base, 9)
    differences = np.round(by_seed.mean(axis=1), 9)
    interval = mean_interval(by_seed, resamples, rng)
    p_signflip, p_harm = sign_flip(differences, resamples, rng)
    p_wilcoxon, _ = sign_flip(rank_with_sign(differences), resamples, rng)
    variance = mean_variance(by_seed) if len(base) > 1 else None
    block = PairedStats(
        n_prompts=base.shape[0],
        n_seeds=base.shape[1],
        n_nonzero=int(np.count_nonzero(differences)),
        mean_base=float(np.mean(base)),
        mean_tuned=float(np.mean(tuned)),
        mean_difference=float(np.mean(differences)),
        ci_low=interval.low if interval else None,
        ci_high=interval.high if interval else None,
        p_win=float(np.mean(differences > 0)),
        p_tie=float(np.mean(differences == 0)),
        p_loss=float(np.mean(differences < 0)),
        p_signflip=p_signflip,
        p_wilcoxon=p_wilcoxon,
        p_harm=p_harm,
        p_holm=p_signflip,
        noninferiority_low=interval.noninferiority_low if interval else None,
        mde=detectable_effect(variance, len(base)) if variance else None,
        n_for_margin=prompts_needed(variance, margin)
        if variance and np.ptp(by_seed)
        else prompts_without_spread(base, margin),
        verdict="inconclusive",
    )
    return replace(block, verdict=judge(block, margin))


def prompts_without_spread(base: Numbers, margin: float) -> int | None:
    """Return the number of tied prompts that excludes a loss as large as the margin; None for one prompt.

    A loss that none of n prompts showed may still have a probability of up to 1 - .05^(1/n) (Clopper and Pearson,
    1934), and costs at most the base's best score.
    """
    if len(base) < 2:
        return None
    most = float(np.max(base))
    return 2 if most <= margin else max(2, math.ceil(math.log(ALPHA) / math.log1p(-margin / most)))


def judge(block: PairedStats, margin: float) -> Verdict:
    """Return a block's verdict.

    `better` needs the test and the interval to agree, since on skewed differences either alone claims too often.
    `worse` needs only the test for harm, which is never corrected for the number of tasks: harm must be easy to see.
    One prompt, or equal scores on all of them, show nothing of either model and are `inconclusive`. A margin of more
    than half of the base's score shows no non-inferiority.
    """
    if block.ci_low is None or block.noninferiority_low is None or block.n_nonzero == 0:
        return "inconclusive"
    if block.p_holm < ALPHA and block.ci_low > 0:
        return "better"
    if block.p_harm < ALPHA:
        return "worse"
    excluded = block.noninferiority_low > -margin and not block.margin_is_wide(margin)
    return "non-inferior" if excluded else "inconclusive"


def correct(blocks: Mapping[TaskName, PairedStats], margins: Mapping[TaskName, float]) -> dict[TaskName, PairedStats]:
    """Return the tasks' blocks with Holm's correction over them, and their verdicts after it, each by its margin."""
    p_holm = holm({task: block.p_signflip for task, block in blocks.items()})
    corrected = {task: replace(block, p_holm=p_holm[task]) for task, block in blocks.items()}
    return {task: replace(block, verdict=judge(block, margins[task])) for task, block in corrected.items()}


def rank_with_sign(differences: Numbers) -> Numbers:
    """Return Wilcoxon's signed ranks of the differences that are not 0 (mean ranks for ties)."""
    from scipy.stats import rankdata

    nonzero = differences[differences != 0]
    return np.asarray(rankdata(np.abs(nonzero)) * np.sign(nonzero), dtype=np.float64)


def holm(p_values: Mapping[TaskName, float]) -> dict[TaskName, float]:
    """Correct p values for multiple tests (Holm, 1979): the family-wise error stays below the level."""
    ordered = sorted(p_values, key=lambda name: p_values[name])
    corrected: dict[TaskName, float] = {}
    largest = 0.0
    for rank, name in enumerate(ordered):
        largest = max(largest, min(1.0, (len(ordered) - rank) * p_values[name]))
        corrected[name] = largest
    return {name: corrected[name] for name in p_values}
