"""Evaluation report: a page with the verdict, the figures and some answers, and Markdown with numbers and verdict.

Both say the same of a comparison; the Markdown, for a model card and Prefect's page, holds no model's text. The same
comparison and background give the same bytes.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from schemas.config.evaluate import BASELINES
from tasks.evaluate.compare import BASE, CHAMPION, REPORT_TEXT, TUNED, Comparison
from tasks.evaluate.completions.page import PAGE_FILE
from tasks.evaluate.report.background import Background
from tasks.evaluate.report.markdown import markdown_template
from tasks.evaluate.report.sentences import (
    classifier_lines,
    headline,
    known_to_base,
    shop_lines,
    warnings_of,
    when_margin_was_set,
    why_chosen,
)
from tasks.report.number_format import decimal, interval, money, p_value, percent, shortest, signed
from tasks.report.page import page_template
from tasks.report.wording import worded

REPORT_PAGE: Final = "report.html"
DATA_FILES: Final = ("tasks/evaluate/report/report.html.j2", "tasks/evaluate/report/report.md.j2")

_ROOM: Final = Path(__file__).parent
_FILTERS: Final[Mapping[str, Callable[..., str]]] = {
    "signed": signed,
    "decimal": decimal,
    "p_value": p_value,
    "percent": percent,
    "money": money,
}
_MAX_SHOWN: Final = 1200
FIRST: Final = (BASE, TUNED, CHAMPION)
"""Models whose metrics come first."""


def write_report_files(comparison: Comparison, background: Background, folder: Path, drawn: Mapping[str, str]) -> None:
    """Write `report.html` and `report.md` into a folder, with figures of the same comparison and background."""
    (folder / REPORT_PAGE).write_text(render(comparison, background, drawn), encoding="utf-8")
    (folder / REPORT_TEXT).write_text(markdown(comparison, background), encoding="utf-8")


def render(comparison: Comparison, background: Background, drawn: Mapping[str, str]) -> str:
    """Render the page, with figures of the same comparison and background."""
    return page_template(_ROOM / "report.html.j2", **_FILTERS).render(
        **_values(comparison, background),
        drawn=drawn,
        longest=_MAX_SHOWN,
        completions=PAGE_FILE,
    )


def markdown(comparison: Comparison, background: Background) -> str:
    """Render the report as Markdown with tables, in which any text is shown literally."""
    names = {name for claim in comparison.claims.values() for name in claim.baselines}
    seeds = [
        f"{worded('seed {seed}', seed=seed)} {signed(difference)}"
        for seed, difference in comparison.seed_differences.items()
    ]
    text = markdown_template(_ROOM / "report.md.j2", **_FILTERS).render(
        **_values(comparison, background),
        baselines_shown=[name for name in BASELINES if name in names],
        by_seed=worded("By training seed: {seeds}.", seeds=", ".join(seeds)) if len(seeds) > 1 else "",
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _values(comparison: Comparison, background: Background) -> dict[str, Any]:
    """Return what page and Markdown show."""
    looks, margin = background.looks, comparison.margin
    measured = dict.fromkeys(model for by in background.ground_truth.values() for each in by.values() for model in each)
    return {
        "comparison": comparison,
        "background": background,
        "headline": headline(comparison),
        "interval": interval,
        "looks": when_margin_was_set(looks, margin) if looks else "",
        "known_to_base": known_to_base(background.known_to_base),
        "warnings": warnings_of(looks, margin) if looks else [],
        "margin": shortest(margin),
        "shop_lines": [*classifier_lines(comparison), *shop_lines(background)],
        "models": sorted(measured, key=lambda model: FIRST.index(model) if model in FIRST else len(FIRST)),
        "baselines": BASELINES,
        "ladder": _ladder_steps(comparison, background),
        "why_chosen": why_chosen,
    }


def _ladder_steps(comparison: Comparison, background: Background) -> list[dict[str, Any]]:
    """Return base, rungs and tuned model by their scores; `left` is the tuned model's block beside a step."""
    if not background.ladder:
        return []
    below = [("base", comparison), *((rung.name, rung.found) for rung in background.ladder)]
    below.sort(key=lambda each: each[1].overall.mean_base)
    steps: list[dict[str, Any]] = [
        {
            "name": name,
            "scores": {task: block.mean_base for task, block in found.tasks.items()},
            "overall": found.overall.mean_base,
            "left": found.overall,
        }
        for name, found in below
    ]
    tuned = {task: block.mean_tuned for task, block in comparison.tasks.items()}
    steps.append({"name": "tuned", "scores": tuned, "overall": comparison.overall.mean_tuned, "left": None})
    costs = {served.model: served.cost_per_analysis for served in background.serving}
    return [{**step, "cost": costs.get(step["name"])} for step in steps]
