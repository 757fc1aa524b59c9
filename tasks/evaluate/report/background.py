"""Report context beside the comparison, all of it optional, and the choice of the answers that it shows.

Answers side by side are what base, best rung and tuned model say to prompts that a rule and a draw choose. The rule, so
that nobody picks: of each task the prompt of the largest gain; then, in turn, the largest loss and the prompt nearest
to the median difference, each of another task while there is one, until there are ten. A tie goes to the first task,
and to the first prompt by its identity. Extremes are no sample, so that one other prompt of each task is drawn.
"""

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, Final, Literal

from schemas.documents import ScoredRollout
from schemas.tasks import TASK_NAMES, TaskName
from tasks.evaluate.compare import Comparison, PromptScores

if TYPE_CHECKING:
    # A comparison of two files does without these imports, which take a second.
    from tasks.evaluate.answers.cost import Serving
    from tasks.evaluate.decision import RungStanding
    from tasks.evaluate.retention import GeneralOutcome
    from tasks.next_steps.steps import NextStep


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
    next_steps: Sequence["NextStep"] = ()


def reward_identity(task: TaskName) -> str:
    """Name the version of a task's reward among the identities of a report."""
    return f"rewards of {task}"


SHOWN: Final = 10  # Prompts that the rule chooses, beside those drawn at random.
Reason = Literal["random", "gain", "loss", "median"]


@dataclass(frozen=True)
class SideBySide:
    """Prompt with each model's answer."""

    reason: Reason
    scores: PromptScores
    """Means over samples and seeds, by which it was chosen."""
    prompt: str
    reference: str
    """The right answer, or what it must keep to; empty if unknown."""
    answers: Mapping[str, ScoredRollout]
    """By model the first of its samples."""


def side_by_side(
    prompts: Sequence[PromptScores], models: Mapping[str, Sequence[ScoredRollout]], seed: int
) -> tuple[SideBySide, ...]:
    """Choose prompts, and return the models' answers to them."""
    first = {
        model: {(each.task, each.prompt_id): each for each in reversed(answers)} for model, answers in models.items()
    }
    found = []
    for reason, scores in choose_prompts(prompts, seed):
        answers = {model: by_prompt[scores.task, scores.prompt_id] for model, by_prompt in first.items()}
        asked = next(iter(answers.values()))
        found.append(SideBySide(reason, scores, asked.prompt, reference_text(asked.reference), answers))
    return tuple(found)


def reference_text(reference: Mapping[str, Any] | None) -> str:
    """Return what is known of the right answer, a line for each value; a query or a list stands by itself."""
    known = {name: value for name, value in (reference or {}).items() if value is not None}
    # A rating stands in the prompt; the fields are what is asked for.
    known = known.get("fields", known)
    if len(known) == 1:
        (value,) = known.values()
        return "\n".join(map(str, value)) if isinstance(value, list | tuple) else _said(value)
    return "\n".join(f"{name}: {_said(value)}" for name, value in known.items() if value is not None)


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def choose_prompts(prompts: Sequence[PromptScores], seed: int) -> list[tuple[Reason, PromptScores]]:
    """Return the prompts drawn at random, then those that the rule chooses: gains, losses and medians."""
    left = sorted(prompts, key=lambda each: TASK_NAMES.index(each.task))
    middle = median(each.difference for each in prompts) if prompts else 0.0
    chosen: list[tuple[Reason, PromptScores]] = []
    for task in dict.fromkeys(each.task for each in left):
        best = max((each for each in left if each.task == task), key=lambda each: each.difference)
        chosen.append(("gain", best))
        left.remove(best)
    for place in range(min(SHOWN - len(chosen), len(left))):
        reason: Reason = "median" if place % 2 else "loss"
        shown = Counter(each.task for why, each in chosen if why == reason)
        fewest = min(shown[each.task] for each in left)
        found = min(
            (each for each in left if shown[each.task] == fewest),
            key=lambda each: each.difference if reason == "loss" else abs(each.difference - middle),
        )
        chosen.append((reason, found))
        left.remove(found)
    generator = random.Random(seed)
    chosen += [
        ("random", generator.choice([each for each in left if each.task == task]))
        for task in dict.fromkeys(each.task for each in left)
    ]
    order: tuple[Reason, ...] = ("random", "gain", "loss", "median")
    return sorted(chosen, key=lambda each: order.index(each[0]))
