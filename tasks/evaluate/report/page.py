"""Evaluation report: one HTML file with the verdict, the figures, and some prompts with each model's answer.

The same comparison and background give the same bytes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemas.config.evaluate import BASELINES
from schemas.tasks import TaskName
from tasks.evaluate.compare import Comparison
from tasks.evaluate.completions.page import PAGE_FILE
from tasks.evaluate.report.background import Background
from tasks.evaluate.report.gain import left_table, split_table
from tasks.evaluate.report.ladder import steps
from tasks.evaluate.report.sentences import (
    drawn_by_transformers,
    gain_note,
    headline,
    known_to_base,
    models_in,
    split_rule,
    warnings_of,
    when_margin_was_set,
    why_chosen,
)
from tasks.evaluate.report.shop_terms import shop_lines
from tasks.evaluate.stats.sample_size import PLANNED_SAMPLES, PLANNED_SEEDS, plan
from tasks.evaluate.stats.statistics import PairedStats
from tasks.report.number_format import decimal, interval, money, p_value, percent, shortest, signed
from tasks.report.page import page_template

REPORT_PAGE: Final = "report.html"
DATA_FILES: Final = ("tasks/evaluate/report/report.html.j2",)

_TEMPLATE: Final = Path(__file__).with_name("report.html.j2")
_LONGEST_SHOWN: Final = 1200
_CROWDED: Final = 0.5
"""Share of answers at one end of the scale from which the scores hardly separate models."""


@dataclass(frozen=True)
class TaskSection:
    """Page section of one task."""

    task: TaskName
    block: PairedStats
    differences: str
    slopes: str


@dataclass(frozen=True)
class Undecided:
    """Sample size needed to decide about one task, or overall."""

    scope: str
    block: PairedStats
    samples: int
    """Answers to each prompt of each seed."""
    prompts: Mapping[int, int | None]
    """Prompts that show a difference of the margin, by training seeds; None if no number of prompts does."""


def write_page(comparison: Comparison, background: Background, folder: Path, drawn: Mapping[str, str]) -> None:
    """Write `report.html` into a folder, which is created if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / REPORT_PAGE).write_text(render(comparison, background, drawn), encoding="utf-8")


def render(comparison: Comparison, background: Background, drawn: Mapping[str, str]) -> str:
    """Render the page, with figures of the same comparison and background."""
    looks, margin = background.looks, comparison.margin
    filters: dict[str, Callable[..., str]] = {
        "signed": signed,
        "decimal": decimal,
        "p_value": p_value,
        "percent": percent,
        "money": money,
    }
    return page_template(_TEMPLATE, **filters).render(
        comparison=comparison,
        background=background,
        headline=headline(comparison),
        interval=interval,
        looks=when_margin_was_set(looks, margin) if looks else "",
        known_to_base=known_to_base(background.known_to_base),
        warnings=warnings_of(looks, margin) if looks else [],
        drawn=drawn,
        margin=shortest(margin),
        shop_lines=shop_lines(background),
        sections=[
            TaskSection(task, block, drawn[f"differences_{task}"], drawn.get(f"slopes_{task}", ""))
            for task, block in comparison.tasks.items()
        ],
        undecided=list(_undecided(comparison)),
        models=models_in([list(each) for by in background.ground_truth.values() for each in by.values()]),
        baselines=BASELINES,
        ladder=steps(comparison, background) if background.ladder else [],
        gain_note=gain_note(background.gains),
        split_rule=split_rule(background.gains),
        left_table=left_table(background.gains),
        split_table=split_table(background.gains),
        why_chosen=why_chosen,
        drawn_by_transformers=drawn_by_transformers(background),
        crowded=_CROWDED,
        longest=_LONGEST_SHOWN,
        completions=PAGE_FILE,
    )


def _undecided(comparison: Comparison) -> Iterator[Undecided]:
    """Yield the parts that are held for lack of prompts or seeds; none if the model may be promoted."""
    if comparison.gate.verdict == "promote":
        return
    a_gain_is_shown = any(block.verdict == "better" for block in comparison.tasks.values())
    for scope, block in [*comparison.tasks.items(), ("overall", comparison.overall)]:
        wanting = {"inconclusive"} if a_gain_is_shown and scope != "overall" else {"inconclusive", "non-inferior"}
        if block.verdict not in wanting or block.mde is None or not block.n_nonzero:
            continue
        components = comparison.variance[scope]
        # One seed is no basis for planning seeds, and one sample none for samples.
        seeds = PLANNED_SEEDS if block.n_seeds > 1 else (1,)
        samples = PLANNED_SAMPLES if components.sample + components.base_sample > 0 else (1,)
        needs = plan(components, comparison.margin, seeds=seeds, samples=samples)
        for answers in samples:
            prompts = {need.seeds: need.prompts for need in needs if need.samples == answers}
            yield Undecided(scope, block, answers, prompts)
