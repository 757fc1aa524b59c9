"""Decision beside the scores: rungs that cost less, and test prompts without a reference."""

from collections.abc import Mapping, Sequence

import pytest

from schemas.config.evaluate import OverRungs, Rung
from schemas.documents import PairedScore, Rollout
from schemas.errors import InputError
from schemas.tasks import TaskName
from tasks.evaluate.claims import Floor, TaskClaim
from tasks.evaluate.compare import Comparison, compare
from tasks.evaluate.decision import Decision, Evidence, hold_where_untested, missing_references, with_reference
from tasks.evaluate.gate import PromotionGate
from tests.tasks.evaluate.small_comparison import scores

PROMOTED = PromotionGate("promote", ("better",))
BASE, TUNED = 0.2, 0.6


def pairs(score: float, truth: float | None = None) -> list[PairedScore]:
    """Return scores that scatter around one, and ground truth around another."""
    right = None if truth is None else [truth + 0.003 * (number * 5 % 13 - 6) for number in range(40)]
    return scores("push", [score + 0.002 * (number * 7 % 11 - 5) for number in range(40)], truth=right)


def against(before: Sequence[PairedScore], after: Sequence[PairedScore]) -> Comparison:
    return compare(before, after, margin=0.05, resamples=1000, seed=1)


def spread(score: float, truth: float | None = None) -> list[PairedScore]:
    """Return scores with another spread, so that the differences are not all one number."""
    known = enumerate(pairs(score, truth))
    return [pair.model_copy(update={"score": pair.score + 0.01 * (number % 3)}) for number, pair in known]


def decide(wanted: OverRungs, rungs: Mapping[Rung, float], truth: tuple[float, float] | None = None) -> Decision:
    """Decide on a tuned model beside rungs with these scores, all with a ground truth of rung and tuned where given."""
    of_rung, of_tuned = truth or (None, None)
    scored = {"base": pairs(BASE, of_rung), "tuned": spread(TUNED, of_tuned)}
    scored |= {name: pairs(score, of_rung) for name, score in rungs.items()}
    evidence = Evidence({"push": TaskClaim()}, 0, rungs=list(rungs), over_rungs=wanted)
    return evidence.decide(scored, 0.05, against)


@pytest.mark.parametrize(("wanted", "verdict"), [("require", "hold"), ("report", "promote")])
def test_gain_of_a_rung_holds_if_required(wanted: OverRungs, verdict: str) -> None:
    decision = decide(wanted, {"base-guided": TUNED + 0.01})
    gate = decision.comparison.gate
    assert gate.verdict == verdict
    (reason,) = gate.speaks_against
    assert "of the gain of +0.4" in reason
    assert "not shown that the training is worth more than `base-guided`" in reason
    assert [rung.name for rung in decision.ladder] == ["base-guided"]


@pytest.mark.parametrize(
    ("rungs", "truth", "verdict"),
    [
        ({"base-guided": 0.3, "sft": 0.25}, None, "promote"),
        # The best rung counts, and not the mean of them.
        ({"base-guided": 0.3, "sft": TUNED + 0.01}, None, "hold"),
        # A score that rose without its ground truth is form.
        ({"sft": 0.3}, (0.5, 0.5), "hold"),
        ({"sft": 0.3}, (0.5, 0.8), "promote"),
        ({}, None, "hold"),
    ],
)
def test_required_rungs(rungs: Mapping[Rung, float], truth: tuple[float, float] | None, verdict: str) -> None:
    gate = decide("require", rungs, truth).comparison.gate
    assert gate.verdict == verdict
    assert ("no rung that costs no more" in "".join(gate.speaks_against)) == (not rungs)


@pytest.mark.parametrize(("chosen", "difference"), [(0, -0.1), (1, 0.1)])
def test_the_chosen_seed_alone_meets_the_champion(chosen: int, difference: float) -> None:
    other = [pair.model_copy(update={"seed": 1}) for pair in pairs(0.8)]
    scored = {"base": pairs(BASE), "tuned": [*pairs(TUNED), *other], "champion": pairs(0.7)}
    champion = Evidence({"push": TaskClaim()}, chosen).decide(scored, 0.05, against).champion
    assert champion is not None
    assert champion.overall.mean_difference == pytest.approx(difference)


def test_a_better_champion_holds() -> None:
    scored = {"base": pairs(BASE), "tuned": spread(TUNED), "champion": pairs(TUNED + 0.2)}
    gate = Evidence({"push": TaskClaim()}, 0).decide(scored, 0.05, against).comparison.gate
    assert gate.verdict == "hold"
    assert all(reason.startswith("against the champion") for reason in gate.speaks_against)


def test_gain_that_a_text_may_have_too_is_no_better_and_never_promotes() -> None:
    scored = {"base": pairs(BASE), "tuned": spread(TUNED), "constant": pairs(TUNED + 0.009)}
    evidence = Evidence({"push": TaskClaim()}, 0, {"constant": {"push": "Compre."}})
    decision = evidence.decide(scored, 0.05, against).comparison
    assert (decision.overall.verdict, decision.gate.verdict) == ("no better", "hold")


def test_gate_corrects_for_the_tasks_of_the_table() -> None:
    """With p .02 a gain is shown of one task, and not of one of three, though the others are not learned."""
    unlearned = TaskClaim({}, (Floor("accuracy", 0.5, 0.3, 0.3),))
    claims: dict[TaskName, TaskClaim] = {"push": TaskClaim(), "sentiment": unlearned, "churn": unlearned}
    equal = [pair for task in claims if task != "push" for pair in on(task, pairs(0.4))]
    gained = scores("push", [0.511 + 0.01 * (number * 7 % 11 - 5) for number in range(40)])
    scored = {"base": [*on("push", scores("push", [0.5] * 40)), *equal], "tuned": [*on("push", gained), *equal]}
    decision = Evidence(claims, 0).decide(scored, 0.05, against).comparison
    assert decision.tasks["push"].p_signflip < 0.05 < decision.tasks["push"].p_holm
    assert decision.gate.verdict == "hold"


def answer(prompt: str, *, known: bool) -> Rollout:
    reference = {"polarity": "positive", "score": 5} if known else None
    return Rollout(prompt_id=prompt, task="sentiment", prompt="Avaliação: bom", completion="{}", reference=reference)


def test_only_answers_with_a_reference_are_scored_and_prompts_are_counted_once() -> None:
    answers = [answer("a", known=True), answer("b", known=False), answer("b", known=False)]
    assert [each.prompt_id for each in with_reference(answers)] == ["a"]
    assert missing_references(answers) == {"sentiment": (1, 2)}
    with pytest.raises(InputError, match="no prompt of the test split has a reference"):
        with_reference(answers[1:])


def test_a_task_that_is_not_tested_holds_whatever_was_decided() -> None:
    gate = hold_where_untested(PROMOTED, {"sentiment": (40, 40), "push": (3, 40)})
    assert gate.verdict == "hold"
    assert gate.reasons == (
        "sentiment is not tested: none of its 40 test prompts has a reference",
        "3 of 40 test prompts of push have no reference and count for nothing",
    )


def on(task: TaskName, some: Sequence[PairedScore]) -> list[PairedScore]:
    return [score.model_copy(update={"task": task, "prompt_id": f"{task}-{score.prompt_id}"}) for score in some]


@pytest.mark.parametrize(
    ("varieties", "truth", "reasons"),
    [
        ((0.9, 0.8), 0.3, []),
        ((0.9, 0.1), 0.3, ["sentiment collapsed"]),
        ((0.9, 0.8), 0.1, ["the ground truth of sentiment is worse"]),
        ((0.9, 0.1), 0.1, ["sentiment collapsed", "the ground truth of sentiment is worse"]),
    ],
)
def test_spoilt_unlearned_task_holds(varieties: tuple[float, float], truth: float, reasons: list[str]) -> None:
    """A real model was promoted for its pushes while all its reviews got one answer: "not learned" excused that."""
    spoilt = TaskClaim({}, (Floor("accuracy", 0.5, 0.3, truth),), varieties[1], varieties[0], 0.5)
    before = [*on("push", pairs(BASE, 0.5)), *on("sentiment", pairs(0.4, 0.3))]
    after = [*on("push", spread(TUNED, 0.8)), *on("sentiment", spread(0.4, truth))]
    evidence = Evidence({"push": TaskClaim(), "sentiment": spoilt}, 0)
    decision = evidence.decide({"base": before, "tuned": after}, 0.05, against).comparison
    assert decision.gate.verdict == ("hold" if reasons else "promote")
    assert [reason.partition(":")[0] for reason in decision.gate.speaks_against] == reasons
    assert decision.tasks["sentiment"].verdict == ("not learned" if varieties[1] > 0.5 else "collapsed")
    # A champion that knew the task is not replaced by one that lost it.
    champion = [*on("push", pairs(BASE, 0.5)), *on("sentiment", pairs(0.4, 0.9))]
    decision = evidence.decide({"base": before, "tuned": after, "champion": champion}, 0.05, against).comparison
    assert "against the champion, the ground truth of sentiment is worse" in decision.gate.speaks_against[-1]
