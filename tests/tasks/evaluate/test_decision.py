"""Decision beside the scores: rungs that cost less, and test prompts without a reference."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from schemas.config.evaluate import OverRungs
from schemas.documents import PairedScore, Rollout
from schemas.errors import InputError
from tasks.evaluate.claims import Floor, TaskClaim
from tasks.evaluate.compare import Comparison, compare
from tasks.evaluate.decision import (
    GateConditions,
    Match,
    RungStanding,
    best_rung,
    hold_where_untested,
    matched,
    missing_references,
    with_reference,
)
from tasks.evaluate.gate import PromotionGate

PROMOTED = PromotionGate("promote", ("better",))
BASE, TUNED = 0.2, 0.6


def pairs(score: float, truth: float | None = None) -> list[PairedScore]:
    """Return scores that scatter around one, and ground truth around another."""
    return [
        PairedScore(
            prompt_id=f"p{number}",
            task="push",
            seed=0,
            sample=0,
            score=score + 0.002 * (number * 7 % 11 - 5),
            truth=None if truth is None else truth + 0.003 * (number * 5 % 13 - 6),
        )
        for number in range(40)
    ]


def against(before: Sequence[PairedScore], after: Sequence[PairedScore]) -> Comparison:
    return compare(before, after, margin=0.05, resamples=1000, seed=1)


def match(before: float, after: float, truth_before: float | None = None, truth: float | None = None) -> Match:
    one, other = pairs(before, truth_before), pairs(after, truth)
    # Another spread, so that the differences are not all one number.
    other = [pair.model_copy(update={"score": pair.score + 0.01 * (number % 3)}) for number, pair in enumerate(other)]
    return matched(one, other, against)


def decide(wanted: OverRungs, *rungs: RungStanding, tuned: float = TUNED, learned: bool = True) -> PromotionGate:
    floor = Floor("all_kept", 0.5, 0.0, 1.0 if learned else 0.0)
    conditions = GateConditions({"push": TaskClaim(floors=(floor,))}, 0, ladder=rungs, over_rungs=wanted)
    return conditions.decide(match(BASE, tuned), 0.05, against).gate


def rung(score: float, truth: tuple[float, float] | None = None, name: str = "base-guided") -> RungStanding:
    return RungStanding(name, "its kind", match(score, TUNED, *(truth or (None, None))))


@pytest.mark.parametrize(("wanted", "verdict"), [("require", "hold"), ("report", "promote")])
def test_a_gain_that_a_rung_has_too_holds_where_required_and_is_always_reported(
    wanted: OverRungs, verdict: str
) -> None:
    gate = decide(wanted, rung(TUNED + 0.01))
    assert gate.verdict == verdict
    assert "of the gain of +0.4" in gate.reasons[-1]
    assert "not shown that the training is worth more than `base-guided`" in gate.reasons[-1]
    assert (len(gate.reasons) == 1) == (verdict == "hold")


def test_the_best_rung_counts_and_not_the_mean_of_them() -> None:
    gate = decide("require", rung(0.3), rung(0.25, name="sft"))
    assert gate.verdict == "promote"
    assert "`base-guided` has +0.100, at no more cost" in gate.reasons[-1]
    assert decide("require", rung(0.3), rung(TUNED + 0.01, name="sft")).verdict == "hold"
    best = best_rung([rung(0.3), rung(0.4, name="sft")])
    assert best is not None and best.name == "sft"
    assert best_rung([]) is None


def test_a_score_that_rose_without_its_ground_truth_is_form_and_is_held() -> None:
    assert decide("require", rung(0.3, truth=(0.5, 0.5))).verdict == "hold"
    assert decide("require", rung(0.3, truth=(0.5, 0.8))).verdict == "promote"


def test_nothing_is_promoted_where_a_rung_is_required_and_none_was_evaluated() -> None:
    (reason,) = decide("require").reasons
    assert "no rung that costs no more" in reason
    assert decide("report").verdict == "promote"


def test_a_seed_and_a_champion_are_examined_over_the_tasks_that_count() -> None:
    conditions = GateConditions({"push": TaskClaim()}, 0, alone=match(BASE, TUNED), champion=match(TUNED, BASE))
    gate = conditions.decide(match(BASE, TUNED), 0.05, against).gate
    assert gate.verdict == "hold"
    assert all(reason.startswith("against the champion") for reason in gate.reasons)
    promoted = replace(conditions, champion=None).decide(match(BASE, TUNED), 0.05, against).gate
    assert "with seed 0 alone (it would be promoted) it is not worse" in promoted.reasons[-1]


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
