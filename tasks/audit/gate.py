"""Audit gate: no training on rewards without demonstrated agreement with the scores."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from schemas.config.config import AuditConfig
from schemas.documents import RaterKind
from schemas.tasks import TaskName
from tasks.audit.statistics import Agreement
from tasks.report.number_format import decimal, percent, shortest
from tasks.report.wording import worded

AuditVerdict = Literal["agrees", "disagrees", "uncertain", "too few scores", "rubric broken", "probe failed"]


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
    objections = (
        *_of_scores(task, agreement, config),
        *_of_rewards(task, agreement, config),
        *_of_probes(task, probes),
    )
    return TaskAudit(agreement, probes, objections, _verdict({objection.check for objection in objections}))


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


def _of_scores(task: TaskName, agreement: Agreement, config: AuditConfig) -> Iterator[Objection]:
    """Yield objections to the scores themselves: too few, or poor agreement between people."""
    if agreement.overall.n < config.min_scores_per_task:
        text = worded("{n} scores, {needed} are needed", n=agreement.overall.n, needed=config.min_scores_per_task)
        yield Objection("scores", text, task)
    alpha = agreement.alpha
    if agreement.overlap >= config.min_overlap and (alpha is None or alpha < config.min_alpha):
        text = worded(
            "the rubric is broken: raters gave every completion the same score, so that alpha is unknown, {needed} is "
            "needed over {overlap} completions"
            if alpha is None
            else "the rubric is broken: raters do not agree with each other, alpha is {alpha}, {needed} is needed over "
            "{overlap} completions",
            alpha="" if alpha is None else decimal(alpha),
            needed=shortest(config.min_alpha),
            overlap=agreement.overlap,
        )
        yield Objection("alpha", text, task)


def _of_rewards(task: TaskName, agreement: Agreement, config: AuditConfig) -> Iterator[Objection]:
    if agreement.no_numbers:
        yield Objection("no_numbers", worded("{n} rewards are no finite number", n=agreement.no_numbers), task)
    rho, low = agreement.overall.rho, agreement.overall.rho_low
    if rho is None:
        yield Objection("constant", worded("rewards or scores are constant, so nothing can agree"), task)
    elif not rho >= config.min_rho:
        text = worded("rho is {rho}, {needed} is needed", rho=decimal(rho), needed=shortest(config.min_rho))
        yield Objection("rho", text, task)
    if rho is not None and (low is None or low < config.min_rho_low):
        shown = worded("unknown") if low is None else decimal(low)
        text = worded("rho's lower bound is {low}, {needed} is needed", low=shown, needed=shortest(config.min_rho_low))
        yield Objection("rho_low", text, task)
    within = agreement.within_prompt_rho
    if within is not None and not within >= config.min_within_prompt_rho:
        text = worded(
            "rho within a prompt, which GRPO uses, is {rho}, {needed} is needed",
            rho=decimal(within),
            needed=shortest(config.min_within_prompt_rho),
        )
        yield Objection("within_prompt", text, task)
    if agreement.worst_in_top_quartile > config.max_worst_in_top_quartile:
        text = worded(
            "{n} completions scored 1 have a reward in the top quartile, {most} may have",
            n=agreement.worst_in_top_quartile,
            most=config.max_worst_in_top_quartile,
        )
        yield Objection("worst_in_top_quartile", text, task)
    if agreement.best_without_reward > config.max_best_without_reward * agreement.best:
        text = worded(
            "{n} of {best} completions scored 5 have reward 0, {most} may have",
            n=agreement.best_without_reward,
            best=agreement.best,
            most=percent(config.max_best_without_reward),
        )
        yield Objection("best_without_reward", text, task)
    if agreement.constant_groups > config.max_constant_groups * agreement.prompt_groups:
        text = worded(
            "all completions of a prompt have the same reward in {n} of {prompts} prompts, {most} may have: GRPO "
            "learns nothing there",
            n=agreement.constant_groups,
            prompts=agreement.prompt_groups,
            most=percent(config.max_constant_groups),
        )
        yield Objection("constant_groups", text, task)


def _of_probes(task: TaskName, probes: Mapping[str, Probe]) -> list[Objection]:
    return [
        Objection(f"probe:{name}", worded("probe {name} failed: {detail}", name=name, detail=probe.detail), task)
        for name, probe in probes.items()
        if not probe.passed
    ]


def _verdict(checks: set[str]) -> AuditVerdict:
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
