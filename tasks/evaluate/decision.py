"""Decision on a tuned model by all that is examined: its scores, and what an evaluation knows beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from schemas.config.evaluate import OverRungs
from schemas.documents import PairedScore
from schemas.tasks import TaskName
from tasks.evaluate.claims import TaskClaim, judged, judged_overall, learned_tasks
from tasks.evaluate.compare import Comparison
from tasks.evaluate.evidence import Compare, Match, decide_by
from tasks.evaluate.forgetting import GeneralOutcome, hold_where_general_is_lost
from tasks.evaluate.ladder import RungStanding, with_rungs
from tasks.evaluate.untold import UntoldPrompts, hold_where_untested
from tasks.report.wording import worded


@dataclass(frozen=True)
class Examined:
    """What is examined beside the scores of base and tuned."""

    claims: Mapping[TaskName, TaskClaim]
    """What is known of each task."""
    chosen_seed: int
    """Seed of the training whose policy may be promoted."""
    alone: Match | None
    """The base and that policy; None where it is the only one."""
    champion: Match | None
    """The champion and that policy; None without a champion."""
    ladder: Sequence[RungStanding]
    """What costs less."""
    over_rungs: OverRungs
    """Whether a gain that a rung has too holds the model."""
    general: GeneralOutcome | None
    """What became of the general instructions; None where they were not asked."""
    untold: Mapping[TaskName, UntoldPrompts]
    """Prompts without a reference, by task."""

    @property
    def must_not_be_worse(self) -> dict[str, Match]:
        """Return the comparisons in which the tuned model must not be worse, by their name."""
        found = {}
        if self.alone is not None:
            found[worded("with seed {seed} alone (it would be promoted)", seed=self.chosen_seed)] = self.alone
        if self.champion is not None:
            found[worded("against the champion")] = self.champion
        return found


def decide_on(match: Match, examined: Examined, margin: float, compare: Compare) -> Comparison:
    """Return the comparison of base and tuned with the gate's decision and the verdicts after all that is examined.

    Args:
        match: Base and tuned.
        examined: What is examined beside their scores.
        margin: The largest acceptable loss of a task, in score.
        compare: Compares the second scores with the first.
    """
    claims = examined.claims
    gate = decide_by(claims, match, examined.must_not_be_worse, margin, compare)
    gate = with_rungs(gate, examined.over_rungs, examined.ladder, match, learned_tasks(claims), compare)
    gate = hold_where_general_is_lost(gate, examined.general)
    gate = hold_where_untested(gate, examined.untold)
    tasks = judged(match.found.tasks, claims)
    overall = judged_overall(match.found.overall, tasks)
    return replace(match.found, gate=gate, overall=overall, tasks=tasks, claims=claims)


def matched(before: Sequence[PairedScore], challenger: Sequence[PairedScore], compare: Compare) -> Match:
    """Compare scores, and return them with what was found."""
    return Match(before, challenger, compare(before, challenger))


def without_decoding(pairs: Sequence[PairedScore]) -> list[PairedScore]:
    """Return scores without how their answers were drawn, which may differ: a rung draws in its own way."""
    return [pair.model_copy(update={"decoding": None}) for pair in pairs]
