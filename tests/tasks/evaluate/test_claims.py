from dataclasses import asdict, replace

import pytest

from schemas.tasks import TASK_NAMES
from tasks.evaluate.claims import AgainstBaseline, Floor, TaskClaim, gain_of_form, unlearned_tasks
from tasks.evaluate.stats.statistics import Blocks
from tests.tasks.evaluate.test_gate import BETTER, NON_INFERIOR, UNDECIDED

TEXT = '{"polarity":"positive","score":5}'
BEATEN = AgainstBaseline(TEXT, BETTER)
STANDING = AgainstBaseline(TEXT, replace(UNDECIDED, mean_base=0.754, mean_tuned=0.708, ci_low=-0.1, p_signflip=0.7))
GOOD = TaskClaim(
    baselines={"constant": BEATEN},
    floors=(Floor("auc", 0.6, 0.5, 0.8),),
    variety=0.9,
    base_variety=0.8,
    min_variety=0.5,
)


def test_a_gain_counts_that_beats_every_baseline_above_the_floor_with_varied_answers() -> None:
    assert GOOD.verdict(BETTER) == "better"
    assert GOOD.objection("churn", BETTER) is None


def test_a_gain_that_a_constant_text_has_too_names_the_text() -> None:
    claim = replace(GOOD, baselines={"echo": BEATEN, "constant": STANDING})
    assert claim.verdict(BETTER) == "no better"
    objection = claim.objection("sentiment", BETTER)
    assert objection is not None
    assert all(word in objection for word in ("sentiment", "`constant`", TEXT, "0.754", "0.708"))
    # A text that scores less, and may be as good, takes the claim away and is no harm.
    level = replace(STANDING, scores=replace(STANDING.scores, mean_base=0.6, mean_tuned=0.7))
    unshown = replace(claim, baselines={"constant": level})
    assert unshown.verdict(BETTER) == "no better"
    assert unshown.objection("sentiment", BETTER) is None
    assert str(unshown.note("sentiment", BETTER)).startswith("sentiment is not shown")
    # Where nothing is claimed nothing has to be beaten; that a text scores more is said all the same.
    assert claim.verdict(NON_INFERIOR) == "non-inferior"
    assert claim.objection("sentiment", NON_INFERIOR) is None
    assert TEXT in str(claim.note("sentiment", NON_INFERIOR))
    assert claim.note("sentiment", BETTER) is None


@pytest.mark.parametrize(
    ("base", "tuned", "verdict"),
    [(0.5, 0.5, "not learned"), (0.7, 0.5, "below floor"), (0.5, 0.7, "better"), (0.6, 0.6, "better")],
)
def test_floors_are_of_ground_truth_whatever_the_score(base: float, tuned: float, verdict: str) -> None:
    claim = replace(GOOD, floors=(Floor("auc", 0.6, base, tuned),))
    assert claim.verdict(BETTER) == verdict
    assert claim.learned == (verdict != "not learned")


def test_one_text_for_every_prompt_is_a_collapse_unless_the_base_does_the_same_and_nothing_is_claimed() -> None:
    alike = replace(GOOD, variety=0.12)
    assert alike.verdict(BETTER) == alike.verdict(NON_INFERIOR) == "collapsed"
    assert "0.12 times as varied" in str(alike.objection("churn", BETTER))
    both = replace(alike, base_variety=0.1)
    assert both.verdict(NON_INFERIOR) == "non-inferior"
    assert both.verdict(BETTER) == "collapsed"


@pytest.mark.parametrize(
    ("tuned", "verdict", "found"),
    [(0.5, "not learned", "auc"), (0.5, "below floor", "auc"), (0.7, "worse", ""), (0.7, "no better", "")],
)
def test_a_task_below_its_floor_or_not_asked_is_not_learned(tuned: float, verdict: str, found: str) -> None:
    claim = TaskClaim(floors=(Floor("auc", 0.6, 0.5, tuned), Floor("accuracy", 0.1, 0.5, 0.5)))
    report = {"tasks": {"churn": {"verdict": verdict}}, "claims": {"churn": asdict(claim)}}
    unlearned = unlearned_tasks(report)
    assert unlearned.pop("churn", "").partition(" ")[0] == found
    assert set(unlearned) == set(TASK_NAMES) - {"churn"}


def test_a_gain_is_form_only_where_repaired_json_shows_none() -> None:
    truth, unshown = Blocks(BETTER, {"push": BETTER}), replace(UNDECIDED, ci_low=-0.1)
    assert gain_of_form({"push": replace(GOOD, repaired=unshown)}, truth).startswith("4 of the 4 right answers gained")
    assert gain_of_form({"push": replace(GOOD, repaired=BETTER)}, truth) == gain_of_form({"push": GOOD}, None) == ""
