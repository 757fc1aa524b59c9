"""Mutation test of the audit: it runs on rewards with one bug each, and must object to every one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from schemas.config.config import AuditConfig
from schemas.errors import InputError
from schemas.progress import Progress, silent
from tasks.audit.gate import Objection
from tasks.audit.mutations.breaking import Mutant
from tasks.audit.mutations.json_rewards import CHURN, EXTRACTION, SENTIMENT
from tasks.audit.mutations.parsing import PARSING
from tasks.audit.mutations.prose_rewards import INSIGHTS, PROSE, PUSH
from tasks.audit.mutations.sql_rewards import SQL
from tasks.audit.mutations.totals import TOTALS
from tasks.audit.reward import RewardFunction
from tasks.audit.sheet import ScoredSheet
from tasks.audit.stage import audit_rewards

MUTANTS: Final[tuple[Mutant, ...]] = (
    *PARSING,
    *EXTRACTION,
    *SENTIMENT,
    *CHURN,
    *SQL,
    *PROSE,
    *INSIGHTS,
    *PUSH,
    *TOTALS,
)
"""Rewards with one bug each."""


@dataclass(frozen=True)
class MutantResult:
    """Audit result of one mutant."""

    mutant: Mutant
    objections: tuple[Objection, ...]
    """The audit's objections."""

    @property
    def caught(self) -> bool:
        """Return whether the audit would have prevented a training."""
        return bool(self.objections)

    @property
    def checks(self) -> tuple[str, ...]:
        """Return the checks that object, each once."""
        return tuple(dict.fromkeys(objection.check for objection in self.objections))


@dataclass(frozen=True)
class MutantReport:
    """Audit results of all mutants."""

    results: tuple[MutantResult, ...]
    """In the order of the audits."""

    @property
    def share_caught(self) -> float:
        """Return the share of mutants that the audit objects to, in [0, 1]."""
        return sum(result.caught for result in self.results) / len(self.results)

    @property
    def missed(self) -> tuple[Mutant, ...]:
        """Return the mutants that the audit accepts."""
        return tuple(result.mutant for result in self.results if not result.caught)


def run_mutants(
    sheet: ScoredSheet,
    score: RewardFunction,
    config: AuditConfig,
    mutants: Sequence[Mutant] = MUTANTS,
    progress: Progress = silent,
) -> MutantReport:
    """Audit every mutant on the tasks that it breaks.

    Args:
        sheet: The scored completions.
        score: The reward, which is mutated and restored.
        config: The gate's thresholds.
        mutants: The bugs, one at a time.
        progress: Called with the finished mutants.

    Raises:
        InputError: The audit objects to the unmutated rewards, so that it would show nothing of the mutants, or the
            sheet has no completion of a mutant's task.
    """
    missing = sorted({task for mutant in mutants for task in mutant.tasks} - set(sheet.tasks))
    if missing:
        raise InputError(
            f"the sheet has no completion of {', '.join(missing)}; score some, so that mutants of it are audited"
        )
    unbroken = audit_rewards(sheet, score, config).gate
    if not unbroken.passed:
        raise InputError(
            f"the rewards do not pass the audit as they are ({unbroken.reasons[0]}), so that it proves nothing of the "
            "mutants; make them pass first"
        )
    results = []
    for done, mutant in enumerate(mutants):
        progress(done, len(mutants), mutant.name)
        touched = replace(sheet, items=tuple(item for item in sheet.items if item.rollout.task in mutant.tasks))
        with mutant.planted():
            results.append(MutantResult(mutant, audit_rewards(touched, score, config).gate.objections))
    progress(len(mutants), len(mutants), "mutants audited")
    return MutantReport(tuple(results))
