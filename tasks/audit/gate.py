"""Audit gate: no training on rewards without demonstrated agreement with the scores."""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final, Literal

from schemas.config.config import AuditConfig
from schemas.documents import RaterKind
from schemas.tasks import TaskName
from tasks.audit.statistics import Agreement
from tasks.report.number_format import decimal, percent, shortest
from tasks.report.wording import worded

Failed = tuple[str, dict[str, Any]]
"""A check that fails, and the values of its objection."""
AuditVerdict = Literal["agrees", "disagrees", "uncertain", "too few scores", "rubric broken", "probe failed"]
OBJECTIONS: Final = {
    "scores": "{n} scores, {needed} are needed",
    "alpha": "the rubric is broken: alpha, the raters' agreement, is {alpha}, {needed} is needed over {overlap} "
    "completions",
    "no_numbers": "{n} rewards are no finite number",
    "constant": "rewards or scores are constant, so nothing can agree",
    "rho": "rho is {rho}, {needed} is needed",
    "rho_low": "rho's lower bound is {low}, {needed} is needed",
    "within_prompt": "rho within a prompt, which GRPO uses, is {rho}, {needed} is needed",
    "worst_in_top_quartile": "{n} completions scored 1 have a reward in the top quartile, {most} may have",
    "best_without_reward": "{n} of {best} completions scored 5 have reward 0, {most} may have",
    "constant_groups": "all completions of a prompt have the same reward in {n} of {prompts} prompts, {most} may have: "
    "GRPO learns nothing there",
}
"""What each check of a task's agreement objects to."""


@dataclass(frozen=True)
class Probe:
    """Result of one requirement on all prompts of a task, whose answers are of known quality."""

    passed: bool
    detail: str


@dataclass(frozen=True)
class Objection:
    """Reason that forbids training."""

    check: str
    text: str
    task: TaskName | None = None
    """The task of the reward; None for an objection to the sheet."""

    def __str__(self) -> str:
        return f"{self.task}: {self.text}" if self.task else self.text


@dataclass(frozen=True)
class TaskAudit:
    """Audit results of one task's reward."""

    agreement: Agreement
    probes: Mapping[str, Probe]
    objections: tuple[Objection, ...]
    verdict: AuditVerdict


@dataclass(frozen=True)
class AuditGate:
    """The gate's verdict."""

    objections: tuple[Objection, ...]
    reasons: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Return whether training may start."""
        return not self.objections


def judge(task: TaskName, agreement: Agreement, probes: Mapping[str, Probe], config: AuditConfig) -> TaskAudit:
    """Compare one task's findings with the thresholds."""
    failed = (*_of_scores(agreement, config), *_of_rewards(agreement, config))
    found = {check: worded(OBJECTIONS[check], **values) for check, values in failed}
    found |= {
        f"probe:{name}": worded("probe {name} failed: {detail}", name=name, detail=probe.detail)
        for name, probe in probes.items()
        if not probe.passed
    }
    objections = tuple(Objection(check, text, task) for check, text in found.items())
    return TaskAudit(agreement, probes, objections, _verdict(found.keys()))


def _of_scores(found: Agreement, config: AuditConfig) -> Iterator[Failed]:
    """Yield the checks of the scores themselves that fail: too few, or poor agreement between people."""
    if found.overall.n < config.min_scores_per_task:
        yield "scores", {"n": found.overall.n, "needed": config.min_scores_per_task}
    alpha, needed = found.alpha, shortest(config.min_alpha)
    if found.overlap >= config.min_overlap and (alpha is None or alpha < config.min_alpha):
        yield "alpha", {"alpha": _number(alpha), "needed": needed, "overlap": found.overlap}


def _of_rewards(found: Agreement, config: AuditConfig) -> Iterator[Failed]:
    if found.no_numbers:
        yield "no_numbers", {"n": found.no_numbers}
    rho, low, within = found.overall.rho, found.overall.rho_low, found.within_prompt_rho
    if rho is None:
        yield "constant", {}
    elif not rho >= config.min_rho:
        yield "rho", {"rho": decimal(rho), "needed": shortest(config.min_rho)}
    if rho is not None and (low is None or low < config.min_rho_low):
        yield "rho_low", {"low": _number(low), "needed": shortest(config.min_rho_low)}
    if within is not None and not within >= config.min_within_prompt_rho:
        yield "within_prompt", {"rho": decimal(within), "needed": shortest(config.min_within_prompt_rho)}
    if (worst := found.worst_in_top_quartile) > (most := config.max_worst_in_top_quartile):
        yield "worst_in_top_quartile", {"n": worst, "most": most}
    if (unpaid := found.best_without_reward) > (share := config.max_best_without_reward) * found.best:
        yield "best_without_reward", {"n": unpaid, "best": found.best, "most": percent(share)}
    if (constant := found.constant_groups) > (share := config.max_constant_groups) * found.prompt_groups:
        yield "constant_groups", {"n": constant, "prompts": found.prompt_groups, "most": percent(share)}


def _number(value: float | None) -> str:
    return worded("unknown") if value is None else decimal(value)


def decide(
    tasks: Mapping[TaskName, TaskAudit],
    unscored: Iterable[TaskName],
    rater_kinds: Iterable[RaterKind],
    config: AuditConfig,
) -> AuditGate:
    """Permit training only without an objection to any task's reward."""
    objections = [objection for audit in tasks.values() for objection in audit.objections]
    objections += [Objection("unscored", worded("no completion is scored"), task) for task in unscored]
    if not tasks:
        objections.append(Objection("unscored", worded("no completion is scored at all")))
    kinds = sorted(set(rater_kinds))
    if config.require_human and kinds != ["human"]:
        named = ", ".join(map(worded, kinds))
        text = worded("scores are by {kinds}, and audit.require_human asks for people", kinds=named)
        objections.append(Objection("human", text))
    return AuditGate(tuple(objections), tuple(map(str, objections)) or _in_favour(tasks, config))


def _verdict(checks: AbstractSet[str]) -> AuditVerdict:
    """Summarize one task's reward in a few words, by the gravest finding."""
    if "alpha" in checks:
        # Then the scores say nothing of the rewards.
        return "rubric broken"
    if any(check.startswith("probe:") for check in checks):
        return "probe failed"
    if "scores" in checks:
        return "too few scores"
    if checks - {"rho_low"}:
        return "disagrees"
    return "uncertain" if checks else "agrees"


def _in_favour(tasks: Mapping[TaskName, TaskAudit], config: AuditConfig) -> tuple[str, ...]:
    lowest = min(tasks, key=lambda task: tasks[task].agreement.overall.rho or 0)
    return (
        worded(
            "every task's rho is at least {rho} and its lower bound at least {low}",
            rho=shortest(config.min_rho),
            low=shortest(config.min_rho_low),
        ),
        worded("the lowest is {task}'s, {rho}", task=lowest, rho=decimal(tasks[lowest].agreement.overall.rho or 0, 2)),
        worded("every probe is scored as it must be"),
        *(
            worded("{task}: no prompt has several completions, so that what GRPO compares was not measured", task=task)
            for task, audit in tasks.items()
            if not audit.agreement.prompt_groups
        ),
    )
