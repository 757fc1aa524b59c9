"""Audit report: one HTML file with the verdict on the rewards and their disagreements."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schemas.config.config import AuditConfig
from schemas.documents import AuditRecord
from schemas.tasks import TaskName
from tasks.audit.gate import AuditGate, TaskAudit
from tasks.audit.sampling import AT_RANDOM, BY_REWARD
from tasks.audit.sheet import ScoredCompletion
from tasks.audit.statistics import Interval
from tasks.report.canvas import INK, LOSS, SOFT, canvas, svg
from tasks.report.number_format import decimal, shortest
from tasks.report.page import page_template
from tasks.report.wording import counted, worded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REPORT_PAGE = "report.html"
DATA_FILES: Final = ("tasks/audit/report.html.j2",)

WORST_SHOWN: Final = 20

_TEMPLATE: Final = Path(__file__).with_name("report.html.j2")
_WORST_OF_TASK: Final = 3
_LONGEST_SHOWN: Final = 900
_LONGEST_NAME: Final = 40
_REASONS_AT_ONCE: Final = 12
_BLUE: Final = "#0369a1"
_OTHERWISE: Final = "otherwise"
STRATA: Final = {
    AT_RANDOM: ("drawn at random", "o", _BLUE, _BLUE),
    BY_REWARD: ("chosen by reward", "D", "none", LOSS),
    _OTHERWISE: ("chosen otherwise", "s", "none", SOFT),
}
_FEWEST_FOR_QUARTILES: Final = 4


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


def render(
    tasks: Mapping[TaskName, TaskAudit],
    gate: AuditGate,
    rows: Sequence[ScoredCompletion],
    record: AuditRecord,
    config: AuditConfig,
) -> str:
    """Render `report.html`; the same audits give the same bytes."""
    worst = worst_disagreements(rows, WORST_SHOWN)
    kinds = sorted(set(record.raters.values()))
    filters: dict[str, Callable[..., str]] = {
        "number": _number,
        "interval": _interval,
        "words": lambda name: name.replace("_", " "),
        "score": lambda mean: shortest(float(f"{mean:.3g}")),
        "decimal": decimal,
    }
    return page_template(_TEMPLATE, **filters).render(
        gate=gate,
        record=record,
        config=config,
        shortest=shortest,
        any_at_random=any(audit.agreement.random_half.n for audit in tasks.values()),
        rater_kinds=kinds,
        raters=", ".join(map(worded, kinds)),
        sections=[
            _section(task, audit, [row for row in rows if row.rollout.task == task], worst)
            for task, audit in tasks.items()
        ],
        worst=worst,
        reasons_at_once=_REASONS_AT_ONCE,
        longest=_LONGEST_SHOWN,
        longest_name=_LONGEST_NAME,
    )


def _section(
    task: TaskName, audit: TaskAudit, rows: Sequence[ScoredCompletion], worst_of_all: Sequence[Disagreement]
) -> dict[str, Any]:
    # Its worst disagreements have their place among those of all tasks.
    numbers = {found.judged.item.audit_id: number for number, found in enumerate(worst_of_all, 1)}
    probes = audit.probes.items()
    return {
        "task": task,
        "audit": audit,
        "figure": scatter(rows),
        "worst": [
            (numbers.get(found.judged.item.audit_id), found) for found in worst_disagreements(rows, _WORST_OF_TASK)
        ],
        "failed": frozenset(objection.check for objection in audit.objections),
        "probes_failed": [each for each in probes if not each[1].passed],
        "probes_passed": [each for each in probes if each[1].passed],
    }


def _number(value: float | None) -> str:
    return worded("unknown") if value is None else decimal(value, 2).replace("-", "−")


def _interval(bounds: Interval | tuple[None, None] | None) -> str:
    low, high = bounds or (None, None)
    return worded("unknown") if low is None else worded("{low} to {high}", low=_number(low), high=_number(high))


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


def scatter(rows: Sequence[ScoredCompletion]) -> str:
    """Draw one task's rewards against its scores, which are jittered so that no point hides another."""
    with canvas(4.6, 2.9) as figure:
        _draw(figure.add_axes((0.125, 0.16, 0.85, 0.74)), rows)
        return svg(figure, worded("reward against score"))


def _draw(axes: "Axes", rows: Sequence[ScoredCompletion]) -> None:
    beside = np.random.default_rng(0).uniform(-0.15, 0.15, len(rows))
    counts = Counter(_stratum(row) for row in rows)
    only_others = counts.keys() == {_OTHERWISE}
    for name, (words, mark, face, edge) in STRATA.items():
        points = [
            (row.item.score + aside, row.rollout.reward)
            for row, aside in zip(rows, beside, strict=True)
            if _stratum(row) == name
        ]
        if points:
            sideways, rewards = zip(*points, strict=True)
            axes.scatter(
                sideways,
                rewards,
                s=20,
                marker=mark,
                facecolors=face,
                edgecolors=edge,
                alpha=0.75,
                linewidths=0.9,
                label=counted(len(rows), "{n} completion", "{n} completions")
                if only_others
                else f"{worded(words)}: {counts[name]}",
            )
    for score in sorted({row.item.score for row in rows}):
        of_score = [row.rollout.reward for row in rows if row.item.score == score]
        if len(of_score) >= _FEWEST_FOR_QUARTILES:
            low, median, high = np.quantile(of_score, [0.25, 0.5, 0.75])
            axes.plot([score, score], [low, high], color=INK, linewidth=1.4)
            axes.plot([score - 0.2, score + 0.2], [median, median], color=INK, linewidth=2)
    axes.set(
        xlim=(0.6, 5.4),
        ylim=(-0.04, 1.04),
        xticks=range(1, 6),
        xlabel=worded("score on the sheet"),
        ylabel=worded("reward"),
    )
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.01, 0.99),
        ncols=len(STRATA),
        frameon=False,
        fontsize=8,
        handletextpad=0.1,
        columnspacing=1.2,
    )


def _stratum(row: ScoredCompletion) -> str:
    return row.item.stratum if row.item.stratum in STRATA else _OTHERWISE
