"""The evaluation report: one HTML file that explains itself, needs no network, and trusts no model's text.

Every text that the page prints is escaped, and signs that nobody sees, or that turn the reading direction, are spelled
out. The same comparison and background give the same bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from schemas.shown_text import as_shown
from schemas.tasks import TaskName
from tasks.evaluate import wording
from tasks.evaluate.background import AnsweredPrompt, Background
from tasks.evaluate.compare import Comparison, PromptScores
from tasks.evaluate.sample_size import PLANNED_SAMPLES, PLANNED_SEEDS, plan
from tasks.evaluate.statistics import Block

REPORT_PAGE: Final = "report.html"
TEMPLATE: Final = "report.html.j2"

_LONGEST_SHOWN: Final = 1200
_CROWDED: Final = 0.5
"""Share of answers at one end of the scale from which on the scores can hardly tell anything more."""


@dataclass(frozen=True)
class Example:
    """A prompt shown side by side, with what its scores were."""

    title: str
    scores: PromptScores
    answer: AnsweredPrompt


@dataclass(frozen=True)
class TaskSection:
    """What the page says of one task."""

    task: TaskName
    block: Block
    differences: str
    slopes: str
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Undecided:
    """What it would take to decide about one task, or overall."""

    scope: str
    block: Block
    samples: int
    """Answers to each prompt of each seed."""
    prompts: Mapping[int, int | None]
    """Prompts that show a difference of the margin, by training seeds; None where no number of prompts does."""


def write_page(comparison: Comparison, background: Background, folder: Path, drawn: Mapping[str, str]) -> None:
    """Write `report.html` into a folder, which is made if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / REPORT_PAGE).write_text(render(comparison, background, drawn), encoding="utf-8")


def render(comparison: Comparison, background: Background, drawn: Mapping[str, str]) -> str:
    """Return the page, with the figures that were drawn of the same comparison and background."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    environment.filters |= {"signed": wording.signed, "p_value": wording.p_value, "percent": wording.percent}
    looks, margin = background.looks, comparison.margin
    return environment.get_template(TEMPLATE).render(
        comparison=comparison,
        background=background,
        headline=wording.headline(comparison),
        interval=wording.interval,
        looks=wording.when_margin_was_set(looks, margin) if looks else "",
        warnings=wording.warnings_of(looks, margin) if looks else [],
        drawn=drawn,
        sections=[_section(task, block, comparison, background, drawn) for task, block in comparison.tasks.items()],
        undecided=list(_undecided(comparison)),
        models=wording.models_in([list(each) for by in background.ground_truth.values() for each in by.values()]),
        crowded=_CROWDED,
        longest=_LONGEST_SHOWN,
    )


def _section(
    task: TaskName, block: Block, comparison: Comparison, background: Background, drawn: Mapping[str, str]
) -> TaskSection:
    scores = [prompt for prompt in comparison.prompts if prompt.task == task]
    return TaskSection(
        task,
        block,
        drawn[f"differences_{task}"],
        drawn.get(f"slopes_{task}", ""),
        _examples(scores, background.answers),
    )


def _examples(scores: Sequence[PromptScores], answers: Sequence[AnsweredPrompt]) -> tuple[Example, ...]:
    """Choose the prompt that gained most and the one that lost most, of those whose answers are known."""
    known = {(answer.task, answer.prompt_id): answer for answer in answers}
    shown = [prompt for prompt in scores if (prompt.task, prompt.prompt_id) in known]
    if not shown:
        return ()
    best = max(shown, key=lambda prompt: prompt.difference)
    worst = min(shown, key=lambda prompt: prompt.difference)
    chosen = [("Largest gain", best)] if best.difference > 0 else []
    chosen += [("Largest loss" if worst.difference < 0 else "Smallest gain", worst)] if worst != best else []
    return tuple(Example(title, prompt, known[prompt.task, prompt.prompt_id]) for title, prompt in chosen)


def _undecided(comparison: Comparison) -> Iterator[Undecided]:
    """Yield what holds the model for want of prompts or seeds: nothing where it may be promoted."""
    if comparison.gate.verdict == "promote":
        return
    a_gain_is_shown = any(block.verdict == "better" for block in comparison.tasks.values())
    for scope, block in [*comparison.tasks.items(), ("overall", comparison.overall)]:
        wanting = {"inconclusive"} if a_gain_is_shown and scope != "overall" else {"inconclusive", "non-inferior"}
        if block.verdict not in wanting or block.mde is None or not block.n_nonzero:
            continue
        components = comparison.variance[scope]
        # One seed tells nothing of others, and one sample nothing of others: nothing can be planned of these.
        seeds = PLANNED_SEEDS if block.n_seeds > 1 else (1,)
        samples = PLANNED_SAMPLES if components.sample + components.base_sample > 0 else (1,)
        needs = plan(components, comparison.margin, seeds=seeds, samples=samples)
        for answers in samples:
            prompts = {need.seeds: need.prompts for need in needs if need.samples == answers}
            yield Undecided(scope, block, answers, prompts)


def _visible(value: Any) -> Any:
    """Spell out the signs that nobody sees, in all that the template prints but markup."""
    return as_shown(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
