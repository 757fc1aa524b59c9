"""Ladder: which gains are worth a training, by what the gate says of them."""

from collections.abc import Sequence

import pytest

from schemas.config.evaluate import OverRungs
from schemas.documents import PairedScore
from tasks.evaluate.compare import Comparison, compare
from tasks.evaluate.evidence import Match
from tasks.evaluate.gate import PromotionGate
from tasks.evaluate.ladder import RungStanding, with_rungs

PROMPTS = 40
PROMOTED = PromotionGate("promote", ("better",))
HELD = PromotionGate("hold", ("push is worse",))
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
        for number in range(PROMPTS)
    ]


def against(before: Sequence[PairedScore], after: Sequence[PairedScore]) -> Comparison:
    return compare(before, after, margin=0.05, resamples=1000, seed=1)


def match(before: float, after: float, truth_before: float | None = None, truth: float | None = None) -> Match:
    one, other = pairs(before, truth_before), pairs(after, truth)
    # Another spread, so that the differences are not all one number.
    other = [pair.model_copy(update={"score": pair.score + 0.01 * (number % 3)}) for number, pair in enumerate(other)]
    return Match(one, other, against(one, other))


def decide(
    wanted: OverRungs, *rungs: RungStanding, gate: PromotionGate = PROMOTED, learned: Sequence[str] = ("push",)
) -> PromotionGate:
    return with_rungs(gate, wanted, rungs, match(BASE, TUNED), learned, against)  # type: ignore[arg-type]


def rung(
    score: float, draws: int = 1, truth: tuple[float, float] | None = None, name: str = "base-guided"
) -> RungStanding:
    before, after = truth or (None, None)
    return RungStanding(name, "its kind", draws, match(score, TUNED, before, after))


def test_a_gain_that_a_rung_has_too_is_held_where_required() -> None:
    gate = decide("require", rung(TUNED + 0.01))
    assert gate.verdict == "hold"
    assert "not shown that the training is worth more than `base-guided`" in gate.reasons[0]


def test_the_same_gain_is_promoted_with_a_sentence_where_it_is_only_reported() -> None:
    gate = decide("report", rung(TUNED + 0.01))
    assert gate.verdict == "promote"
    assert gate.reasons[0] == "better"
    assert "of the gain of +0.4" in gate.reasons[1]


def test_a_gain_over_the_best_rung_is_promoted() -> None:
    gate = decide("require", rung(0.3), rung(0.25, name="sft"))
    assert gate.verdict == "promote"
    assert "`base-guided` has +0.100, at no more cost" in gate.reasons[1]


def test_the_best_rung_counts_and_not_the_mean_of_them() -> None:
    assert decide("require", rung(0.3), rung(TUNED + 0.01, name="sft")).verdict == "hold"


def test_a_rung_that_costs_more_to_serve_holds_nothing() -> None:
    """Eight draws cost eight times as much: what they reach is shown, and no reason."""
    gate = decide("report", rung(0.9, draws=8))
    assert gate == PROMOTED


def test_the_tuned_model_under_guided_decoding_is_no_way_to_do_without_the_training() -> None:
    """It contains the training: where it is better than the tuned model, that is no reason to hold either."""
    above = rung(TUNED + 0.2, name="tuned-guided")
    assert decide("report", above) == PROMOTED
    assert decide("require", rung(0.3), above).verdict == "promote"
    assert "`base-guided`" in decide("require", rung(0.3), above).reasons[-1]
    assert "no rung that costs no more" in decide("require", above).reasons[0]


def test_a_score_that_rose_without_its_ground_truth_is_form_and_is_held() -> None:
    assert decide("require", rung(0.3, truth=(0.5, 0.5))).verdict == "hold"
    assert decide("require", rung(0.3, truth=(0.5, 0.8))).verdict == "promote"


def test_nothing_is_promoted_where_a_rung_is_required_and_none_was_evaluated() -> None:
    assert decide("require").verdict == "hold"
    assert decide("require", rung(0.3, draws=8)).verdict == "hold"


def test_what_was_held_stays_held_with_its_reasons() -> None:
    gate = decide("require", rung(TUNED + 0.01), gate=HELD)
    assert gate.verdict == "hold"
    assert gate.reasons[0] == HELD.reasons[0]


@pytest.mark.parametrize("wanted", ["report", "require"])
def test_nothing_is_said_where_no_task_is_learned(wanted: OverRungs) -> None:
    assert decide(wanted, rung(0.3), gate=HELD, learned=()) == HELD
