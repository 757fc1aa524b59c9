"""The audit report: one HTML file that says whether the rewards may be trained on, and shows where they disagree."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from schemas.documents import ScoredRollout, SheetRow
from schemas.tasks import TaskName
from tasks.audit.gate import AuditGate, TaskAudit

REPORT_PAGE = "report.html"
TEMPLATE = "report.html.j2"

_DISAGREEMENTS_SHOWN = 3
_LONGEST_SHOWN = 900


@dataclass(frozen=True)
class ScoredRow:
    """A row of the sheet and the reward of the same completion."""

    sheet: SheetRow
    rollout: ScoredRollout


@dataclass(frozen=True)
class TaskSection:
    """What the page says of one task."""

    task: TaskName
    audit: TaskAudit
    figure: str
    disagreements: tuple[ScoredRow, ...]


def write_page(
    tasks: Mapping[TaskName, TaskAudit],
    gate: AuditGate,
    rows: Sequence[ScoredRow],
    identities: Mapping[str, Any],
    folder: Path,
) -> Path:
    """Write `report.html` into a folder and return its path."""
    path = folder / REPORT_PAGE
    # A completion may hold half a surrogate pair, which no encoding can write.
    path.write_text(render(tasks, gate, rows, identities), encoding="utf-8", errors="replace")
    return path


def render(
    tasks: Mapping[TaskName, TaskAudit], gate: AuditGate, rows: Sequence[ScoredRow], identities: Mapping[str, Any]
) -> str:
    """Return the page; every text of a model, a prompt or a rater is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    by_task = {task: [row for row in rows if row.sheet.task == task] for task in tasks}
    return environment.get_template(TEMPLATE).render(
        gate=gate,
        rater_kinds=sorted({row.sheet.rater_kind for row in rows}),
        sections=[
            TaskSection(task, audit, _scatter(by_task[task]), _worst_disagreements(by_task[task]))
            for task, audit in tasks.items()
        ],
        identities=identities,
        longest=_LONGEST_SHOWN,
    )


def _worst_disagreements(rows: Sequence[ScoredRow]) -> tuple[ScoredRow, ...]:
    """Return the rows whose places in the two orders lie furthest apart."""
    from scipy.stats import rankdata

    rewards = rankdata([round(row.rollout.reward, 9) for row in rows])
    scores = rankdata([row.sheet.human_score for row in rows])
    furthest = np.argsort(-np.abs(rewards - scores), kind="stable")
    return tuple(rows[place] for place in furthest[:_DISAGREEMENTS_SHOWN] if rewards[place] != scores[place])


def _scatter(rows: Sequence[ScoredRow]) -> str:
    """Draw reward against score as an SVG element; the scores are spread sideways so that no point hides another."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    scores = np.array([row.sheet.human_score for row in rows])
    beside = np.random.default_rng(0).uniform(-0.18, 0.18, len(rows))
    soft = "#64748b"
    style = {"svg.fonttype": "none", "svg.hashsalt": "tucano", "font.size": 9, "axes.edgecolor": "#cbd5e1"}
    with rc_context(style):
        figure = Figure(figsize=(4.4, 2.7))
        axes = figure.add_axes((0.12, 0.19, 0.86, 0.77))
        axes.scatter(
            scores + beside, [row.rollout.reward for row in rows], s=26, color="#0f766e", alpha=0.55, linewidths=0
        )
        axes.set(xlim=(0.6, 5.4), ylim=(-0.03, 1.03), xticks=range(1, 6))
        axes.set_xlabel("score on the sheet", color=soft)
        axes.set_ylabel("reward", color=soft)
        axes.tick_params(colors=soft)
        axes.spines[["top", "right"]].set_visible(False)
        target = io.StringIO()
        figure.savefig(target, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = target.getvalue()
    return text[text.index("<svg") :]


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}".replace("-", "−")
