"""Answers side by side: what base, best rung and tuned model say to prompts that a rule and a draw choose.

The rule, so that nobody picks: of each task the prompt of the largest gain; then, in turn, the largest loss and the
prompt nearest to the median difference, each of another task while there is one, until there are ten. A tie goes to the
first task, and to the first prompt by its identity. Extremes are no sample, so that one other prompt of each task is
drawn at random.
"""

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, Literal

from schemas.documents import ScoredRollout
from schemas.tasks import TASK_NAMES
from tasks.evaluate.compare import PromptScores

SHOWN: Final = 10
"""Prompts that the rule chooses, beside those drawn at random."""
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
