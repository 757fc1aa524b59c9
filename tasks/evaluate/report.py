"""The evaluation report: one HTML file that explains itself, needs no network, and trusts no model's text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from schemas.tasks import TaskName
from tasks.evaluate import figures
from tasks.evaluate.compare import Comparison, PromptScores
from tasks.evaluate.statistics import Block

REPORT_PAGE = "report.html"
TEMPLATE = "report.html.j2"

_LONGEST_SHOWN = 1200


@dataclass(frozen=True)
class AnsweredPrompt:
    """A test prompt and what each model answered; with several samples, any one of them."""

    task: TaskName
    """The prompt's task."""
    prompt_id: str
    """Identity of the prompt, as in the scores."""
    prompt: str
    """The question, without the system prompt."""
    base_completion: str
    """The base model's answer."""
    tuned_completion: str
    """The tuned model's answer."""


@dataclass(frozen=True)
class Background:
    """What the report shows beside the comparison; whatever is empty is left out of the page."""

    answers: Sequence[AnsweredPrompt] = ()
    """The answers behind the scores."""
    learning_curve: Sequence[tuple[int, float]] = ()
    """Validation reward by training step."""
    chosen_step: int | None = None
    """The step whose checkpoint was evaluated."""
    ground_truth: Mapping[TaskName, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    """Metrics that are no rewards, of base and tuned, by task and name."""
    identities: Mapping[str, str] = field(default_factory=dict)
    """What exactly was compared: digests of model, data, reward, code and audit, by what they identify."""


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
    figure: str
    examples: tuple[Example, ...]


def write_page(comparison: Comparison, background: Background, folder: Path) -> Path:
    """Write `report.html` into a folder, which is made if missing, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / REPORT_PAGE
    # A completion may hold half a surrogate pair, which no encoding can write.
    path.write_text(render(comparison, background), encoding="utf-8", errors="replace")
    return path


def render(comparison: Comparison, background: Background) -> str:
    """Return the page; every text of a model or of a prompt is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"signed": _signed, "p_value": _p_value}
    curve = (
        figures.learning_curve(background.learning_curve, background.chosen_step) if background.learning_curve else ""
    )
    return environment.get_template(TEMPLATE).render(
        comparison=comparison,
        headline=headline(comparison),
        rows=[*comparison.tasks.items(), ("overall", comparison.overall)],
        forest=figures.forest(comparison.overall, comparison.tasks, comparison.margin),
        sections=[_section(task, block, comparison, background.answers) for task, block in comparison.tasks.items()],
        curve=curve,
        background=background,
        longest=_LONGEST_SHOWN,
    )


def headline(comparison: Comparison) -> str:
    """Say in one sentence what was found."""
    overall = comparison.overall
    found = {
        "better": "is better than the base and may be promoted"
        if comparison.gate.verdict == "promote"
        else "is better than the base overall, but not ready for promotion",
        "worse": "is worse than the base",
        "non-inferior": "is no worse than the base, but not shown to be better",
        "inconclusive": "cannot be told from the base by this test",
    }
    scores = f"it scores {overall.mean_tuned:.3f} where the base scores {overall.mean_base:.3f}"
    return f"The tuned model {found[overall.verdict]}: {scores}."


def _section(task: TaskName, block: Block, comparison: Comparison, answers: Sequence[AnsweredPrompt]) -> TaskSection:
    scores = [prompt for prompt in comparison.prompts if prompt.task == task]
    return TaskSection(
        task, block, figures.differences([prompt.difference for prompt in scores]), _examples(scores, answers)
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


def _signed(value: float | None) -> str:
    return "unknown" if value is None else figures.signed(value)


def _p_value(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
