"""What the report shows beside the comparison; all of it may be absent, and what is absent is left out of the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schemas.tasks import TaskName
from tasks.evaluate.compare import Comparison

if TYPE_CHECKING:
    # What a comparison of two files does without, and would take a second to load.
    from tasks.evaluate.cost import Serving
    from tasks.evaluate.judge import JudgeReport


@dataclass(frozen=True)
class AnsweredPrompt:
    """A test prompt and what each model answered; with several samples, the first."""

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
class LearningCurve:
    """How one training went."""

    points: tuple[tuple[int, float], ...]
    """Mean validation reward, by training step."""
    chosen_step: int | None
    """The step whose checkpoint was evaluated; None where it is not known."""


@dataclass(frozen=True)
class Looks:
    """How often the test split was looked at, and when it was decided what would count."""

    number: int
    """Which look of this challenger at this test split it is, from 1."""
    margin_recorded_at: str
    """When the margin was recorded, in ISO 8601."""
    first_read_at: str
    """When this challenger's answers to this test split were first drawn, in ISO 8601."""
    margin_before: float | None
    """The margin of the look before, where it was another one."""


@dataclass(frozen=True)
class Background:
    """What is known of a comparison apart from its scores."""

    answers: Sequence[AnsweredPrompt] = ()
    """The answers behind the scores."""
    learning_curves: Mapping[int, LearningCurve] = field(default_factory=dict)
    """How each training went, by its seed."""
    chosen_seed: int | None = None
    """Seed of the training whose policy may be promoted, the challenger: its answers and ground truth are shown."""
    ground_truth: Mapping[TaskName, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """Metrics that are no rewards, by task, metric and model: `base`, `tuned`, `champion` or the rival's name."""
    identities: Mapping[str, str] = field(default_factory=dict)
    """What exactly was compared: digests of model, data, reward, code and audit, by what they identify."""
    champion: Comparison | None = None
    """The challenger against the registry's champion, which has the part of the base."""
    champion_name: str = ""
    """Which model the champion is."""
    rival: Comparison | None = None
    """The challenger against another model, which has the part of the base; it decides nothing."""
    rival_name: str = ""
    """Which model the rival is, by the name that it has everywhere."""
    serving: Sequence["Serving"] = ()
    """How each model answered, and what an analysis by it costs."""
    judge: "JudgeReport | None" = None
    """What a language model preferred."""
    looks: Looks | None = None
    """How often this challenger was held against this test split."""
