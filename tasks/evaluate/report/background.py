"""Report context beside the comparison. All of it is optional; missing parts are left out of the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schemas.tasks import TaskName
from tasks.evaluate.compare import Comparison

if TYPE_CHECKING:
    # A comparison of two files does without these imports, which take a second.
    from tasks.evaluate.answers.cost import Serving
    from tasks.evaluate.decision import RungStanding
    from tasks.evaluate.report.side_by_side import SideBySide
    from tasks.evaluate.retention import GeneralOutcome


@dataclass(frozen=True)
class OtherModel:
    """A model compared with the challenger for orientation only, without effect on the gate."""

    name: str
    description: str
    comparison: Comparison
    """The challenger against it; it takes the place of the base."""


@dataclass(frozen=True)
class Looks:
    """Number of looks at the test split, and the time of the preregistration."""

    number: int
    """Number of this challenger's look at this test split, from 1."""
    margin_recorded_at: str
    """Time when the margin was recorded, in ISO 8601."""
    first_read_at: str
    """Time when this challenger's answers to this test split were first drawn, in ISO 8601."""
    margin_before: float | None
    """The margin of the previous look, if it differed."""


@dataclass(frozen=True)
class Background:
    """Context of a comparison apart from its scores."""

    answers: Sequence["SideBySide"] = ()
    chosen_seed: int | None = None
    """Seed of the challenger, the training whose policy may be promoted: its answers and ground truth are shown."""
    ground_truth: Mapping[TaskName, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """Metrics other than rewards, by task, metric and model: `base`, `tuned`, `champion` or another model's name."""
    known_answers: Mapping[TaskName, int] = field(default_factory=dict)
    """Answers of a model whose ground truth is known, by task: what shares of answers are of."""
    identities: Mapping[str, str] = field(default_factory=dict)
    """Digests of model, data, reward, code and audit, by what they identify."""
    champion: Comparison | None = None
    """The challenger against the registry's champion, which takes the place of the base."""
    champion_name: str = ""
    others: Sequence[OtherModel] = ()
    ladder: Sequence["RungStanding"] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Why a rung that was asked for is not on the ladder, by its name."""
    general: "GeneralOutcome | None" = None
    serving: Sequence["Serving"] = ()
    known_to_base: Mapping[str, int] = field(default_factory=dict)
    """Held-out prompts in the dataset's quarantine, by task, since the base was trained on the same words."""
    weights: str = ""
    """Sentence on the weights with which base, tuned and champion answered; empty if unknown."""
    looks: Looks | None = None


def reward_identity(task: TaskName) -> str:
    """Name the version of a task's reward among the identities of a report."""
    return f"rewards of {task}"
