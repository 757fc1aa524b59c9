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
from schemas.tasks import TaskName
from tasks.evaluate.compare import BASE, CHAMPION, REPORT_TEXT, TUNED, Comparison
from tasks.evaluate.completions.page import PAGE_FILE
from tasks.evaluate.report import sentences
from tasks.evaluate.report.background import Background
from tasks.evaluate.stats.statistics import PairedStats, Verdict
from tasks.report.canvas import BLUE, DASHES, FAINT, GAIN, INK, LOSS, SOFT, WIDTH, add_axes, canvas, name_below, svg
from tasks.report.number_format import decimal, interval, money, p_value, percent, shortest, signed
from tasks.report.page import page_template
from tasks.report.wording import worded

if TYPE_CHECKING:
    from jinja2 import Template

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
        "headline": sentences.headline(comparison),
        "interval": interval,
        "looks": sentences.when_margin_was_set(looks, margin) if looks else "",
        "known_to_base": sentences.known_to_base(background.known_to_base),
        "warnings": sentences.warnings_of(looks, margin) if looks else [],
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


VERDICT_COLOURS: Final[Mapping[Verdict, str]] = {
    "better": GAIN,
    "non-inferior": BLUE,
    "worse": LOSS,
    "inconclusive": SOFT,
    "no better": LOSS,
    "below floor": LOSS,
    "collapsed": LOSS,
    "not learned": SOFT,
}


def draw(comparison: Comparison) -> dict[str, str]:
    """Draw the figures of a report, by name."""
    return {"forest": forest(comparison.overall, comparison.tasks, comparison.margin)}


def forest(overall: PairedStats, tasks: Mapping[TaskName, PairedStats], margin: float) -> str:
    """Draw every mean difference with its 95 % interval, the zero line and the margin."""
    rows = [*tasks.items(), (worded("overall"), overall)]
    with canvas(WIDTH, 1.0 + 0.4 * len(rows)) as figure:
        axes = add_axes(figure, left=0.85, right=1.55, bottom=0.5, top=0.1)
        axes.locator_params(nbins=6)
        axes.axvline(0, color=INK, linewidth=0.9)
        axes.axhline(len(rows) - 1.5, color=FAINT, linewidth=0.8)
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        axes.set_ylim(len(rows) - 0.4, -1.1)
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.axvline(-margin, color=LOSS, linewidth=0.9, linestyle=DASHES)
        axes.annotate(
            worded("margin {margin}", margin=signed(-margin)),
            (-margin, -0.75),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=8,
            color=LOSS,
        )
        # The range extends far enough left for the words beside the margin.
        known = [end for _, block in rows for end in (block.ci_low, block.ci_high, block.mean_difference)]
        ends = [0.0, -margin * 1.8, *(end for end in known if end is not None)]
        room = 0.06 * (max(ends) - min(ends))
        axes.set_xlim(min([*ends, -margin - 0.2 * (max(ends) + margin)]) - room, max(ends) + room)
        for row, (_, block) in enumerate(rows):
            colour = VERDICT_COLOURS[block.verdict]
            if block.ci_low is not None and block.ci_high is not None:
                axes.plot([block.ci_low, block.ci_high], [row, row], color=colour, linewidth=2.4)
            mark = "D" if block is overall else "o"
            axes.plot(block.mean_difference, row, mark, color=colour, markersize=7, markeredgecolor="white")
            axes.annotate(
                f"{signed(block.mean_difference)}  {worded(block.verdict)}",
                (1.02, row),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=8.5,
                color=colour,
            )
        name_below(figure, worded("mean difference in score, tuned minus base, with its 95 % interval"))
        found = "; ".join(f"{name} {_said(block)}, {worded(block.verdict)}" for name, block in rows)
        return svg(figure, worded("Mean differences with their 95 % intervals: {differences}.", differences=found))


def _said(block: PairedStats) -> str:
    ends = worded("interval unknown") if block.ci_low is None else interval(block.ci_low, block.ci_high)
    return f"{signed(block.mean_difference)} ({ends})"


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
