"""General instructions: planted models that lost instructions are held, and others are not."""

from collections.abc import Callable, Sequence

from schemas.config.evaluate import EvaluateConfig, General
from schemas.documents import Rollout
from tasks.evaluate.gate import PromotionGate
from tasks.evaluate.general.instructions import GeneralInstruction, as_rows, instructions
from tasks.evaluate.retention import GeneralOutcome, measure_general

ALL = instructions()
ROWS = as_rows(["push", "churn"])
PROMOTED = PromotionGate("promote", ("better",))
HELD = PromotionGate("hold", (), ("worse than the champion",))

Follows = Callable[[int, GeneralInstruction], bool]


def answered(follows: Follows) -> list[Rollout]:
    return [
        row.answered(each.right if follows(number, each) else each.wrong)
        for number, (row, each) in enumerate(zip(ROWS, ALL, strict=True))
    ]


def outcome(base: Follows, tuned: Follows, mode: General = "require") -> GeneralOutcome:
    config = EvaluateConfig(resamples=1000, general=mode)
    return measure_general(config, answered(base), answered(tuned), seed=3)


def half(number: int, _: GeneralInstruction) -> bool:
    return number % 2 == 0


def test_a_model_that_lost_them_is_held_in_either_mode() -> None:
    modes: Sequence[General] = ("report", "require")
    for mode in modes:
        lost = outcome(half, lambda number, _: number % 8 == 0, mode)
        gate = lost.decide(PROMOTED)
        assert gate.verdict == "hold"
        assert len(gate.reasons) == 1
        assert gate.reasons[0].startswith("general instructions: tuned follows 23 of 180 where base follows 90")
        assert "for harm" in gate.reasons[0]
        assert lost.decide(HELD).reasons == (*HELD.reasons, *gate.reasons)


def test_a_loss_not_excluded_holds_only_where_that_is_required() -> None:
    """Half of the base's instructions are others than the tuned model's: too many to exclude a loss of a tenth."""

    def other(number: int, _: GeneralInstruction) -> bool:
        return number % 4 == 0 or (number % 4 == 1 and number > 40)

    found = outcome(half, other, "require")
    gate = found.decide(PROMOTED)
    assert found.stats.p_harm > 0.05
    assert gate.verdict == "hold"
    assert "cannot be excluded, the margin is 0.100" in gate.reasons[0]
    said = outcome(half, other, "report").decide(PROMOTED)
    assert said.verdict == "promote"
    assert "cannot be excluded" in said.reasons[-1]


def test_a_base_that_follows_next_to_none_is_not_measurable_and_no_objection() -> None:
    found = outcome(lambda number, _: number % 10 == 0, lambda *_: False)
    assert not found.measurable
    gate = found.decide(PROMOTED)
    assert gate.verdict == "promote"
    assert "not measurable" in gate.reasons[-1]
