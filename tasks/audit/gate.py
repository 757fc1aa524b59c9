"""The audit gate: no training on rewards that are not shown to agree with the scores."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from schemas.config import AuditConfig
from schemas.documents import RaterKind
from schemas.tasks import TaskName
from tasks.audit.probes import Probe
from tasks.audit.statistics import Agreement

AuditVerdict = Literal["agrees", "disagrees", "uncertain", "too few scores", "probe failed"]


@dataclass(frozen=True)
class TaskAudit:
    """What the audit found of one task's reward."""

    agreement: Agreement
    probes: Mapping[str, Probe]
    verdict: AuditVerdict


@dataclass(frozen=True)
class AuditGate:
    """The gate's word, with its reasons as sentences."""

    passed: bool
    reasons: tuple[str, ...]
    """What forbids training, or, where nothing does, what speaks for it."""


def judge(agreement: Agreement, probes: Mapping[str, Probe], config: AuditConfig) -> AuditVerdict:
    """Say in a few words what is known of one task's reward; the gravest finding counts."""
    if not all(probe.passed for probe in probes.values()):
        return "probe failed"
    if agreement.n < config.min_scores_per_task:
        return "too few scores"
    if agreement.rho is None or agreement.rho < config.min_rho:
        return "disagrees"
    if agreement.rho_low is None or agreement.rho_low < config.min_rho_low:
        return "uncertain"
    return "agrees"


def decide(
    tasks: Mapping[TaskName, TaskAudit],
    unscored: Iterable[TaskName],
    rater_kinds: Iterable[RaterKind],
    config: AuditConfig,
) -> AuditGate:
    """Let training start only where every task's reward agrees.

    Args:
        tasks: The tasks of the sheet.
        unscored: Tasks that the rollouts have and the sheet has not.
        rater_kinds: Who scored: people, a rubric or a model.
        config: The thresholds.
    """
    kinds = sorted(set(rater_kinds))
    objections = [f"{task}: {objection}" for task, audit in tasks.items() for objection in _objections(audit, config)]
    objections += [f"{task}: no completion is scored" for task in unscored]
    if config.require_human and kinds != ["human"]:
        objections.append(f"scores are by {' and '.join(kinds)}, and audit.require_human asks for people")
    if objections:
        return AuditGate(False, tuple(objections))
    lowest = min(tasks, key=lambda task: tasks[task].agreement.rho or 0)
    return AuditGate(
        True,
        (
            f"every task's rho is at least {config.min_rho:g} and its lower bound at least {config.min_rho_low:g}",
            f"the lowest is {lowest}'s, {tasks[lowest].agreement.rho:.2f}",
            "every probe is scored as it must be",
        ),
    )


def _objections(audit: TaskAudit, config: AuditConfig) -> list[str]:
    agreement = audit.agreement
    objections = [f"probe {name} failed: {probe.detail}" for name, probe in audit.probes.items() if not probe.passed]
    if agreement.n < config.min_scores_per_task:
        objections.append(f"{agreement.n} scores, {config.min_scores_per_task} are needed")
    if agreement.rho is None:
        objections.append("rewards or scores are constant, so nothing can agree")
    elif agreement.rho < config.min_rho:
        objections.append(f"rho is {agreement.rho:.2f}, {config.min_rho:g} is needed")
    if agreement.rho is not None and (agreement.rho_low is None or agreement.rho_low < config.min_rho_low):
        low = "unknown" if agreement.rho_low is None else f"{agreement.rho_low:.2f}"
        objections.append(f"rho's lower bound is {low}, {config.min_rho_low:g} is needed")
    return objections
