"""Ladder: what of a gain is to be had for less, and whether enough of it is left to promote a policy."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from schemas.config.evaluate import ABOVE, OverRungs
from schemas.tasks import TaskName
from tasks.evaluate.gate import PromotionGate
from tasks.evaluate.stats.sample_size import ALPHA
from tasks.evaluate.stats.statistics import PairedStats
from tasks.report.number_format import interval, signed
from tasks.report.wording import worded

if TYPE_CHECKING:
    # It reads prompt tables, whose library a comparison of two files does not need.
    from tasks.evaluate.evidence import Compare, Match


@dataclass(frozen=True)
class RungStanding:
    """One rung of the ladder beside the tuned model, which is compared with it as with the base."""

    name: str
    what: str
    """Its kind, as the report says it."""
    draws: int
    """Answers that it draws to a prompt, and so how many times one answer's cost it has."""
    match: "Match"
    """The rung, which takes the base's place, and the tuned model."""


def with_rungs(
    gate: PromotionGate,
    wanted: OverRungs,
    rungs: Sequence[RungStanding],
    base: "Match",
    learned: Collection[TaskName],
    compare: "Compare",
) -> PromotionGate:
    """Say what of the gain is left over the best rung that costs no more to serve, and hold for it where required.

    Enough is left where the tuned model is better than that rung overall, on the tasks that count, by the paired test
    and its interval, in score and, where known, in ground truth. The best rung is the one that scores highest on the
    test split, which favours the rungs. A rung that contains the training does not count.

    Args:
        gate: The verdict so far.
        wanted: Whether a gain that a rung has too holds the model, or is only reported.
        rungs: The rungs that were evaluated.
        base: Base and tuned.
        learned: The tasks that count; without any, nothing is said.
        compare: Compares the second scores with the first.
    """
    free = [(rung, rung.match.of(learned, compare)) for rung in _free(without_training(rungs))] if learned else []
    if not free:
        if wanted == "require" and gate.verdict == "promote":
            missing = worded(
                "no rung that costs no more to serve was evaluated, so that nothing shows what the training is worth "
                "(promote.over_rungs = require)"
            )
            return replace(gate, verdict="hold", reasons=(missing,))
        return gate
    rung, found = max(free, key=lambda each: each[1].overall.mean_base)
    before = base.of(learned, compare).overall
    truth = found.ground_truth.overall if found.ground_truth else None
    sentence = _sentence(rung.name, before, found.overall, truth)
    if is_shown(found.overall) and (truth is None or is_shown(truth)):
        return replace(gate, reasons=(*gate.reasons, sentence))
    sentence = worded(
        "{found}; it is not shown that the training is worth more than `{rung}`", found=sentence, rung=rung.name
    )
    if wanted == "report":
        return replace(gate, reasons=(*gate.reasons, sentence))
    kept = gate.reasons if gate.verdict == "hold" else ()
    return PromotionGate("hold", (*kept, sentence))


def is_shown(block: PairedStats) -> bool:
    """Return whether a gain is shown, by the test and its interval."""
    return block.p_signflip < ALPHA and block.ci_low is not None and block.ci_low > 0


def without_training(rungs: Sequence[RungStanding]) -> list[RungStanding]:
    """Return the rungs that do not answer by the tuned model itself, of whose gain something may be had by them."""
    return [rung for rung in rungs if rung.name not in ABOVE]


def best_rung(rungs: Sequence[RungStanding]) -> RungStanding | None:
    """Return the rung of the highest score among those that cost no more to serve, if any, else among all.

    Args:
        rungs: The rungs that were evaluated.
    """
    without = without_training(rungs)
    return max(_free(without) or without, key=lambda rung: rung.match.found.overall.mean_base, default=None)


def _free(rungs: Sequence[RungStanding]) -> list[RungStanding]:
    """Return the rungs that cost no more to serve than the tuned model: one answer to a prompt."""
    return [rung for rung in rungs if rung.draws == 1]


def _sentence(name: str, before: PairedStats, left: PairedStats, truth: PairedStats | None) -> str:
    sentence = worded(
        "of the gain of {gain}, `{rung}` has {without}, at no more cost to serve; {left} is left, 95 % interval "
        "{interval}",
        gain=signed(before.mean_difference),
        rung=name,
        without=signed(left.mean_base - before.mean_base),
        left=signed(left.mean_difference),
        interval=interval(left.ci_low, left.ci_high),
    )
    if truth is None:
        return sentence
    return worded(
        "{found}, in ground truth {difference} ({interval})",
        found=sentence,
        difference=signed(truth.mean_difference),
        interval=interval(truth.ci_low, truth.ci_high),
    )
