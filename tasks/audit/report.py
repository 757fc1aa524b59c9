"""Audit report: one HTML file with the verdict on the rewards and their disagreements."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from schemas.audit_record import AuditRecord
from schemas.config.config import AuditConfig
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit import figures
from tasks.audit.gate import AuditGate, Probe, TaskAudit
from tasks.audit.sheet import ScoredCompletion
from tasks.audit.statistics import Interval
from tasks.report.number_format import decimal, moment, shortest
from tasks.report.page import page_template
from tasks.report.wording import worded

REPORT_PAGE = "report.html"
DATA_FILES: Final = ("tasks/audit/report.html.j2",)

WORST_SHOWN: Final = 20
AUDITS_SHOWN: Final = 20

_TEMPLATE: Final = Path(__file__).with_name("report.html.j2")
_WORST_OF_TASK: Final = 3
_LONGEST_SHOWN: Final = 900
_LONGEST_NAME: Final = 40
_REASONS_AT_ONCE: Final = 12


@dataclass(frozen=True)
class PastAudit:
    """Earlier audit, of another reward version or another sheet."""

    made: datetime
    record: AuditRecord


@dataclass(frozen=True)
class Disagreement:
    """Completion ranked differently by reward and by score."""

    judged: ScoredCompletion
    places: float
    """Rank by reward minus rank by score within its task; negative if the reward ranks it lower."""
    of: int

    @property
    def share(self) -> float:
        """Return the rank difference as a share of the task's completions, comparable between tasks."""
        return abs(self.places) / self.of


@dataclass(frozen=True)
class AuditSection:
    """Page section of one task."""

    task: TaskName
    audit: TaskAudit
    figure: str
    worst: tuple[tuple[int | None, Disagreement], ...]
    """Its worst disagreements, each with its rank among those of all tasks, if it has one."""

    @property
    def failed(self) -> frozenset[str]:
        """Return the checks that object to the task's reward."""
        return frozenset(objection.check for objection in self.audit.objections)

    @property
    def probes_failed(self) -> list[tuple[str, Probe]]:
        """Return the failed probes, with their names."""
        return [(name, probe) for name, probe in self.audit.probes.items() if not probe.passed]

    @property
    def probes_passed(self) -> list[tuple[str, Probe]]:
        """Return the passed probes, with their names."""
        return [(name, probe) for name, probe in self.audit.probes.items() if probe.passed]


@dataclass(frozen=True)
class HistoryLine:
    """Audit as a line of the history."""

    number: int
    made: str
    """Time of the audit; "this audit" for this one, so that the page does not depend on the time."""
    record: AuditRecord


def write_page(
    tasks: Mapping[TaskName, TaskAudit],
    gate: AuditGate,
    rows: Sequence[ScoredCompletion],
    record: AuditRecord,
    past: Sequence[PastAudit],
    config: AuditConfig,
    folder: Path,
) -> Path:
    """Write `report.html` into a folder and return its path."""
    path = folder / REPORT_PAGE
    path.write_text(render(tasks, gate, rows, record, past, config), encoding="utf-8")
    return path


def render(
    tasks: Mapping[TaskName, TaskAudit],
    gate: AuditGate,
    rows: Sequence[ScoredCompletion],
    record: AuditRecord,
    past: Sequence[PastAudit],
    config: AuditConfig,
) -> str:
    """Render the page; the same audits give the same bytes."""
    worst = worst_disagreements(rows, WORST_SHOWN)
    audits, kinds = _history(record, past), sorted(set(record.raters.values()))
    shown = audits[:AUDITS_SHOWN]
    filters: dict[str, Callable[..., str]] = {
        "number": _number,
        "interval": _interval,
        "words": _words,
        "score": _score,
        "decimal": decimal,
    }
    template = page_template(_TEMPLATE, **filters)
    return template.render(
        gate=gate,
        record=record,
        config=config,
        shortest=shortest,
        any_at_random=any(audit.agreement.random_half.n for audit in tasks.values()),
        rater_kinds=kinds,
        raters=", ".join(map(worded, kinds)),
        sections=[
            _section(task, audit, [row for row in rows if row.rollout.task == task], worst, config)
            for task, audit in tasks.items()
        ],
        worst=worst,
        audits=shown,
        older=len(audits) - len(shown),
        audited_tasks=[task for task in TASK_NAMES if any(task in audit.record.tasks for audit in shown)],
        history=bool(past),
        reasons_at_once=_REASONS_AT_ONCE,
        longest=_LONGEST_SHOWN,
        longest_name=_LONGEST_NAME,
    )


def _section(
    task: TaskName,
    audit: TaskAudit,
    rows: Sequence[ScoredCompletion],
    worst_of_all: Sequence[Disagreement],
    config: AuditConfig,
) -> AuditSection:
    numbers = {found.judged.item.audit_id: number for number, found in enumerate(worst_of_all, 1)}
    worst = [(numbers.get(found.judged.item.audit_id), found) for found in worst_disagreements(rows, _WORST_OF_TASK)]
    return AuditSection(task, audit, figures.agreement(rows, audit.agreement, config), tuple(worst))


def _history(record: AuditRecord, past: Sequence[PastAudit]) -> list[HistoryLine]:
    newest_first = sorted(past, key=lambda audit: audit.made, reverse=True)
    earlier = [(moment(audit.made.isoformat()), audit.record) for audit in newest_first]
    dated = [(worded("this audit"), record), *earlier]
    return [HistoryLine(len(dated) - place, made, of) for place, (made, of) in enumerate(dated)]


def _number(value: float | None) -> str:
    return worded("unknown") if value is None else decimal(value, 2).replace("-", "−")


def _interval(bounds: Interval | tuple[None, None] | None) -> str:
    low, high = bounds or (None, None)
    return worded("unknown") if low is None else worded("{low} to {high}", low=_number(low), high=_number(high))


def _score(mean: float) -> str:
    return shortest(float(f"{mean:.3g}"))


def _words(name: str) -> str:
    return name.replace("_", " ")


def worst_disagreements(judged: Sequence[ScoredCompletion], count: int) -> tuple[Disagreement, ...]:
    """Return the completions with the largest rank differences, the worst first."""
    from scipy.stats import rankdata

    by_task: dict[TaskName, list[ScoredCompletion]] = {}
    for row in judged:
        by_task.setdefault(row.rollout.task, []).append(row)
    found = []
    for of_task in by_task.values():
        rewards = rankdata([round(row.rollout.reward, 9) for row in of_task])
        scores = rankdata([row.item.score for row in of_task])
        places = (rewards - scores).tolist()
        found += [Disagreement(row, by, len(of_task)) for row, by in zip(of_task, places, strict=True) if by]
    return tuple(sorted(found, key=lambda disagreement: -disagreement.share)[:count])
