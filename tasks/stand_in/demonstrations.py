"""Imperfect demonstrations: answers with the faults of the source project's base model.

A stand-in that had only seen right answers would leave GRPO nothing to teach. Of these more than half have faults,
whatever is asked and answered: so the likeliest answer is wrong for many prompts, right ones are sampled for all, and
GRPO has no reason to prefer one label for the faults of another.
"""

import random
from typing import Final

from tasks.commerce.example import Example
from tasks.commerce.registry import TASKS

SHARE_CARELESS: Final = 0.57
"""Share of demonstrations with faults; at the evaluation's low temperature one of .65 would spoil nearly all answers."""


def demonstrate(example: Example, generator: random.Random) -> str:
    """Return a nearly right answer to a prompt.

    Args:
        example: The prompt, with the known facts of the right answer.
        generator: Decides whether the answer has faults, and which.
    """
    task = TASKS[example.task]
    right = task.answer(example.reference)
    return task.faults(right, generator) if generator.random() < SHARE_CARELESS else right
