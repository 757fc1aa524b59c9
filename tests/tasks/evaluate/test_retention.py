"""General instructions: planted models that lost instructions are held, and others are not."""

import random
from collections.abc import Callable, Sequence

from schemas.config.evaluate import EvaluateConfig, General
from schemas.documents import Rollout
from tasks.evaluate.gate import PromotionGate
from tasks.evaluate.general.instructions import GeneralInstruction, as_rows, instructions
from tasks.evaluate.retention import GeneralOutcome, measure_general

ALL = instructions()
ROWS = as_rows(["push", "churn"])
PROMOTED = PromotionGate("promote", ("better",))
HELD = PromotionGate("hold", ("worse than the champion",))

Follows = Callable[[int, GeneralInstruction], bool]


def answered(follows: Follows) -> list[Rollout]:
    return [
        row.answered(each.right if follows(number, each) else each.wrong)
        for number, (row, each) in enumerate(zip(ROWS, ALL, strict=True))
    ]


def outcome(base: Follows, tuned: Follows, mode: General = "require") -> GeneralOutcome:
    config = EvaluateConfig(resamples=1000, general=mode)
    return measure_general(config, answered(base), answered(tuned), seed=3)


def share_of(share: float, seed: int) -> Follows:
    """Follow a random share of the instructions."""
    chosen = set(random.Random(seed).sample(range(len(ALL)), round(share * len(ALL))))
    return lambda number, _: number in chosen


def able_but_of(able: Follows, kept: set[int]) -> Follows:
    return lambda number, each: able(number, each) and number in kept


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


def test_equally_good_models_are_told_apart_from_damaged_ones() -> None:
    """Of 60 % of the instructions 20 models keep some 19 of 20, and 20 others two thirds."""
    able = share_of(0.6, 0)
    verdicts = []
    for kept in (0.95, 0.65):
        held = 0
        for seed in range(20):
            generator = random.Random(seed)
            kept_ones = {number for number in range(len(ALL)) if generator.random() < kept}
            tuned = outcome(able, able_but_of(able, kept_ones))
            held += tuned.objection is not None
        verdicts.append(held)
    assert verdicts[0] <= 1
    assert verdicts[1] == 20
