"""Shares of the gain: ratios of differences over the same prompts, with intervals that hold what they promise."""

from collections.abc import Sequence

import numpy as np
import pytest

from schemas.documents import PairedScore
from tasks.evaluate.compare import Comparison, compare
from tasks.evaluate.decision import Match, RungStanding
from tasks.evaluate.gain import OVERALL, GainShares, shares_of_gain
from tests.tasks.evaluate.small_comparison import against

PROMPTS = 60


def scored(scores: Sequence[float], seed: int = 0, truth: float | None = 0.5) -> list[PairedScore]:
    """Return scores of two tasks, half of the prompts each."""
    return [
        PairedScore(
            prompt_id=f"p{number:02}",
            task="push" if number % 2 else "churn",
            seed=seed,
            sample=0,
            score=min(1.0, max(0.0, score)),
            truth=truth,
        )
        for number, score in enumerate(scores)
    ]


def shares(base: list[PairedScore], tuned: list[PairedScore], **rungs: list[PairedScore]) -> dict[str, GainShares]:
    standings = [
        RungStanding(name.replace("_", "-"), "", Match(pairs, tuned, against(pairs, tuned)))
        for name, pairs in rungs.items()
    ]
    return shares_of_gain(against(base, tuned), standings, resamples=1_000, seed=3)


def drawn(mean: float, seed: int, spread: float = 0.1) -> list[float]:
    return [mean + spread * value for value in np.random.default_rng(seed).normal(size=PROMPTS)]


BASE, TUNED = scored(drawn(0.2, 1), truth=0.25), scored(drawn(0.6, 2), truth=0.75)


def test_share_left_over_a_rung_is_the_ratio_of_two_mean_differences() -> None:
    found = shares(BASE, TUNED, base_guided=scored(drawn(0.4, 3)))
    for scope, each in found.items():
        of_scope = [task for task in ("push", "churn") if scope in {OVERALL, task}]

        def mean(pairs: list[PairedScore], of_scope: list[str] = of_scope) -> float:
            return float(np.mean([pair.score for pair in pairs if pair.task in of_scope]))

        gain = mean(TUNED) - mean(BASE)
        left = each.left["base-guided"]
        assert left.value == pytest.approx((mean(TUNED) - mean(scored(drawn(0.4, 3)))) / gain)
        assert left.low is not None and left.high is not None
        assert left.low < left.value < left.high


def test_the_parts_add_up_to_the_whole_gain() -> None:
    found = shares(BASE, TUNED, base_guided=scored(drawn(0.3, 3)))[OVERALL]
    assert list(found.parts) == ["form", "content"]
    assert sum(part.value for part in found.parts.values()) == pytest.approx(1)
    assert found.over == "base-guided"
    assert found.parts["content"].value == found.left["base-guided"].value


def test_a_rung_that_does_harm_has_no_part_and_is_not_subtracted() -> None:
    """A team would not deploy it: what it lost is no part of what the training gained."""
    found = shares(BASE, TUNED, base_guided=scored(drawn(0.1, 3)))[OVERALL]
    assert found.parts["form"].value == 0
    assert found.parts["content"].value == pytest.approx(1)
    assert found.over == "base"
    assert found.left["base-guided"].value > 1


def test_a_rung_better_than_the_tuned_model_leaves_less_than_nothing() -> None:
    found = shares(BASE, TUNED, base_guided=scored(drawn(0.8, 3)))[OVERALL]
    assert found.left["base-guided"].value < 0
    assert found.parts["content"].value < 0
    assert found.parts["form"].value > 1


def test_other_rungs_are_no_part() -> None:
    """Fine-tuning on references teaches content too; more draws cost more to serve."""
    found = shares(BASE, TUNED, sft=scored(drawn(0.5, 3)))[OVERALL]
    assert found.parts == {}
    assert list(found.left) == ["sft"]


def test_without_a_gain_that_is_shown_there_is_nothing_to_share() -> None:
    for tuned in (scored(drawn(0.2, 5)), scored(drawn(0.1, 5))):
        found = shares(scored(drawn(0.2, 1)), tuned, base_guided=scored(drawn(0.2, 3)))
        assert not any(each.shown or each.left or each.parts for each in found.values())


def test_without_rungs_there_are_no_shares() -> None:
    assert shares(BASE, TUNED) == {}


def test_ground_truth_stands_beside_with_what_the_best_part_leaves_of_it() -> None:
    found = shares(BASE, TUNED, base_guided=scored(drawn(0.4, 3), truth=0.5))[OVERALL]
    assert found.truth is not None and found.truth.value == pytest.approx(0.5)
    assert found.truth_left is not None and found.truth_left.value == pytest.approx(0.25)


def test_the_same_numbers_give_the_same_shares_whatever_other_tasks_there_are() -> None:
    rung = scored(drawn(0.4, 3))
    both = shares(BASE, TUNED, base_guided=rung)
    assert both == shares(BASE, TUNED, base_guided=rung)
    alone = shares(
        *([pair for pair in pairs if pair.task == "push"] for pairs in (BASE, TUNED)),
        base_guided=[pair for pair in rung if pair.task == "push"],
    )
    assert alone["push"] == both["push"]


def test_seeds_that_differ_widen_the_interval() -> None:
    rung = scored(drawn(0.4, 3))
    alike = [pair for seed in range(5) for pair in scored(drawn(0.6, 2), seed, 0.75)]
    apart = [pair for seed in range(5) for pair in scored(drawn(0.5 + 0.05 * seed, 2), seed, 0.75)]

    def width(tuned: list[PairedScore]) -> float:
        left = shares(BASE, tuned, base_guided=rung)[OVERALL].left["base-guided"]
        return (left.high or np.inf) - (left.low or -np.inf)

    assert width(apart) > 1.3 * width(alike)


def test_the_interval_holds_the_true_share_as_often_as_it_says() -> None:
    """Half of the gain is left; 19 of 20 intervals hold it, and no fewer than 180 of 200 here."""
    generator = np.random.default_rng(11)
    held = 0
    for number in range(200):
        difficulty = generator.normal(0, 0.1, 40)
        base, rung, tuned = (scored([*(mean + difficulty + generator.normal(0, 0.08, 40))]) for mean in (0.3, 0.4, 0.5))
        found = shares_of_gain(
            only_overall(base, tuned),
            [RungStanding("base-guided", "", Match(rung, tuned, only_overall(rung, tuned)))],
            resamples=1_000,
            seed=number,
        )[OVERALL]
        left = found.left["base-guided"]
        held += (left.low or -np.inf) <= 0.5 <= (left.high or np.inf)
    assert held >= 180


def only_overall(before: list[PairedScore], after: list[PairedScore]) -> Comparison:
    """Compare with one task, which is quick."""
    alone = [[pair.model_copy(update={"task": "push"}) for pair in pairs] for pairs in (before, after)]
    return compare(*alone, margin=0.05, resamples=1_000, seed=1)
