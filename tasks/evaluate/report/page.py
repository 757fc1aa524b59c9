"""Evaluation report: a page with the verdict, the figures and some answers, and Markdown with numbers and verdict.

Both say the same of a comparison; the Markdown, for a model card and Prefect's page, holds no model's text. The same
comparison and background give the same bytes.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.config.evaluate import BASELINES
from schemas.shown_text import as_shown
from tasks.evaluate.compare import BASE, CHAMPION, REPORT_TEXT, TUNED, Comparison
from tasks.evaluate.completions.page import PAGE_FILE
from tasks.evaluate.report import sentences
from tasks.evaluate.report.background import Background
from tasks.report.number_format import decimal, interval, money, p_value, percent, shortest, signed
from tasks.report.page import page_template
from tasks.report.wording import worded

if TYPE_CHECKING:
    from jinja2 import Template

REPORT_PAGE: Final = "report.html"
DATA_FILES: Final = (
    "tasks/evaluate/report/report.html.j2",
    "tasks/evaluate/report/report.md.j2",
    "tasks/evaluate/report/forest.svg.j2",
)

_ROOM: Final = Path(__file__).parent
_FILTERS: Final[Mapping[str, Callable[..., str]]] = {
    "signed": signed,
    "decimal": decimal,
    "p_value": p_value,
    "percent": percent,
    "money": money,
}
_MAX_SHOWN: Final = 1200
FIRST: Final = (BASE, TUNED, CHAMPION)  # Models whose metrics come first.


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
    text = markdown_template(_ROOM / "report.md.j2", **_FILTERS).render(
        **_values(comparison, background),
        baselines_shown=[name for name in BASELINES if name in names],
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _values(comparison: Comparison, background: Background) -> dict[str, Any]:
    """Return what page and Markdown show."""
    looks, margin = background.looks, comparison.margin
    measured = dict.fromkeys(model for by in background.ground_truth.values() for each in by.values() for model in each)
    return {
        "comparison": comparison,
        "background": background,
        "headline": sentences.headline(comparison),
        "interval": interval,
        "looks": sentences.when_margin_was_set(looks, margin) if looks else "",
        "known_to_base": sentences.known_to_base(background.known_to_base),
        "warnings": [*sentences.warnings_of(looks, margin)] if looks else [],
        "margin": shortest(margin),
        "shop_lines": [*sentences.classifier_lines(comparison), *sentences.shop_lines(background)],
        "models": sorted(measured, key=lambda model: FIRST.index(model) if model in FIRST else len(FIRST)),
        "baselines": BASELINES,
        "ladder": _ladder_steps(comparison, background),
        "why_chosen": sentences.why_chosen,
    }


def _ladder_steps(comparison: Comparison, background: Background) -> list[dict[str, Any]]:
    """Return base, rungs and tuned model by their scores; `left` is the tuned model's block beside a step."""
    if not background.ladder:
        return []
    costs = {served.model: served.cost_per_analysis for served in background.serving}
    below = {"base": comparison, **{rung.name: rung.found for rung in background.ladder}}
    steps = [
        (name, {task: block.mean_base for task, block in found.tasks.items()}, found.overall.mean_base, found.overall)
        for name, found in sorted(below.items(), key=lambda each: each[1].overall.mean_base)
    ]
    tuned = {task: block.mean_tuned for task, block in comparison.tasks.items()}
    return [
        {"name": name, "scores": scores, "overall": overall, "left": left, "cost": costs.get(name)}
        for name, scores, overall, left in (*steps, ("tuned", tuned, comparison.overall.mean_tuned, None))
    ]


def draw(comparison: Comparison) -> dict[str, str]:
    """Draw the figures of a report, by name: each mean difference with its 95 % interval, beside 0 and the margin."""
    rows = [*comparison.tasks.items(), (worded("overall"), comparison.overall)]
    said = (
        f"{name} {signed(block.mean_difference)} ({interval(block.ci_low, block.ci_high)}), {worded(block.verdict)}"
        for name, block in rows
    )
    figure = page_template(_ROOM / "forest.svg.j2", **_FILTERS).render(
        rows=rows,
        margin=comparison.margin,
        said_margin=worded("margin {margin}", margin=signed(-comparison.margin)),
        axis=worded("mean difference in score, tuned minus base, with its 95 % interval"),
        label=worded("Mean differences with their 95 % intervals: {differences}.", differences="; ".join(said)),
    )
    return {"forest": figure}


# An underscore between letters or digits, as in sql_qa, is never markup.
_MARKUP: Final = re.compile(r"[\\`*\[\]<>|~#&$]|(?<![^\W_])_|_(?![^\W_])")


def escaped(text: str) -> str:
    """Return a text on one line without any active Markdown, even if it is hostile."""
    return _MARKUP.sub(lambda found: f"\\{found[0]}", " ".join(as_shown(text).split()))


def markdown_template(file: Path, **filters: Callable[..., str]) -> "Template":
    """Load a template, which escapes every value that it prints but those marked `safe`, and words messages."""
    from jinja2.filters import do_mark_safe

    def literal(value: Any) -> Any:
        return value if hasattr(value, "__html__") else do_mark_safe(escaped(str(value)))

    return page_template(file, literal, **filters)
