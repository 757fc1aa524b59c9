"""The plan recommends what pays: no training without room, none whose gain could not be shown."""

import math
from statistics import fmean

import pytest

from schemas.errors import InputError
from tasks.plan.plan import REACHED, Terms, plan_training
from tasks.plan.scores import CheapScores, joined
from tasks.plan.training_plan import TaskPlan, TrainingPlan
from tests.tasks.plan.scored import scored

BASE = (0.2, 0.4, 0.3, 0.5, 0.2, 0.4)
SFT = (0.6, 0.5, 0.7, 0.6, 0.5, 0.7)
ROOM = [(0.2, 0.6, 1.0, 0.6), (0.6, 1.0, 0.6, 0.2), (1.0, 0.6, 0.2, 0.6)] * 2
NO_ROOM = [(0.6, 0.6, 0.6, 0.6)] * 6
MANY = 4_000


def plan_of(scores: CheapScores, test_prompts: int = MANY, **terms: str) -> TrainingPlan:
    asked = {"starts_from": "sft", **terms}
    tests = dict.fromkeys(("extraction", "sql_qa", "insights", "push", "sentiment", "churn"), test_prompts)
    return plan_training(scores, Terms(test_prompts=tests, **asked))  # type: ignore[arg-type]


def of_push(scores: CheapScores, test_prompts: int = MANY, **terms: str) -> TaskPlan:
    return plan_of(scores, test_prompts, **terms).tasks["push"]


def test_the_room_is_the_best_of_a_group_above_the_served_answer() -> None:
    """Free answers at a higher temperature are worse on average, which no training has to make good."""
    found = of_push(scored("push", {"base": BASE, "sft": SFT}, {"sft": [(0.0, 0.4, 0.8, 0.4)] * 3}))
    assert (found.pass_1, found.pass_k) == pytest.approx((0.4, 0.8))
    assert found.expected == pytest.approx(REACHED * (0.8 - fmean(SFT[:3])))


@pytest.mark.parametrize(
    ("served", "groups", "learner"),
    [
        ({"base": BASE, "sft": SFT}, ROOM, "GRPO"),
        ({"base": BASE, "sft": SFT}, NO_ROOM, "SFT"),
        ({"base": SFT, "sft": SFT}, NO_ROOM, "nothing"),
        ({"base": BASE, "base-guided": [score - 0.01 for score in SFT], "sft": SFT}, NO_ROOM, "grammar"),
        ({"base": BASE, "sft": SFT, "bag-of-words": [0.9] * 6}, ROOM, "nothing"),
        ({"base": BASE, "sft": SFT, "bag-of-words": [0.59] * 6}, NO_ROOM, "nothing"),
        ({"base": BASE, "sft": SFT, "bag-of-words": [0.5] * 6}, NO_ROOM, "SFT"),
    ],
)
def test_the_cheapest_way_is_recommended(
    served: dict[str, list[float]], groups: list[tuple[float, ...]], learner: str
) -> None:
    assert of_push(scored("push", served, {"sft": groups})).learner == learner


def test_a_room_whose_gain_the_test_split_could_not_show_is_worth_no_training() -> None:
    scores = scored("push", {"base": BASE, "sft": SFT}, {"sft": ROOM})
    few, many = of_push(scores, 4), of_push(scores, 400)
    assert (few.learner, many.learner) == ("SFT", "GRPO")
    assert few.shown is not None
    assert many.shown == pytest.approx(few.shown / 10)
    assert (few.power or 1) < 0.8 < (many.power or 0)


def test_the_standard_error_is_of_free_answers_against_the_served_ones() -> None:
    """One-sided at .05, over one task, with power .80: 2.487 standard errors of validation differences."""
    draws = [(0.5, 0.9), (0.4, 0.4), (0.9, 0.7), (0.6, 0.2), (0.5, 0.5), (1.0, 0.6)]
    found = of_push(scored("push", {"base": BASE, "sft": SFT}, {"sft": draws}), 40)
    differences = [[one[draw] - served for one, served in zip(draws, SFT, strict=True)] for draw in (0, 1)]
    variance = fmean(sum((each - fmean(of)) ** 2 for each in of) / 5 for of in differences)
    assert found.shown == pytest.approx(2.4865 * math.sqrt(variance / 40), rel=1e-3)


def test_more_tasks_make_a_gain_of_one_harder_to_show() -> None:
    alone = scored("push", {"base": BASE, "sft": SFT}, {"sft": ROOM})
    both = joined([alone, scored("churn", {"base": BASE, "sft": SFT}, {"sft": ROOM})])
    assert (of_push(both).shown or 0) > (of_push(alone).shown or 0)


def test_a_training_from_the_base_has_to_come_above_sft_too() -> None:
    """Half of the base's own room ends where SFT is already."""
    groups = {"base": [(0.2, 0.3, 0.4, 0.9)] * 6, "sft": NO_ROOM}
    found = of_push(scored("push", {"base": BASE, "sft": SFT}, groups), starts_from="base")
    assert found.expected == pytest.approx(fmean(BASE) + REACHED * (0.9 - fmean(BASE)) - fmean(SFT))
    assert found.learner == "SFT"


def test_the_gate_is_passed_by_the_start_alone_unless_it_must_beat_the_rung() -> None:
    scores = scored("push", {"base": BASE, "sft": SFT}, {"sft": ROOM})
    report, require = plan_of(scores), plan_of(scores, over_rungs="require")
    assert (report.against, report.must_gain) == ("base", 0.0)
    assert require.against == "sft"
    assert (require.must_gain or 0) > 0
    # SFT that changed all answers alike shows nothing of the error of a later gain.
    for lead in (0.0, 0.2):
        alike = scored("push", {"base": [score + lead for score in SFT], "sft": SFT}, {"sft": ROOM})
        assert (plan_of(alike).must_gain or 0) > lead + 0.01


def test_a_table_has_lines_of_at_most_100_characters() -> None:
    tasks = ("extraction", "sql_qa", "insights", "push", "sentiment", "churn")
    lines = plan_of(joined([scored(task, {"base": BASE, "sft": SFT}, {"sft": ROOM}) for task in tasks])).table()  # type: ignore[arg-type]
    assert max(map(len, lines[:7])) <= 100
    assert lines[-1] == f"recommended: GRPO for {', '.join(tasks)}"


def test_no_validation_prompt_is_refused_with_what_to_set() -> None:
    with pytest.raises(InputError, match=r"curate\.validation_per_task"):
        plan_of(CheapScores())
