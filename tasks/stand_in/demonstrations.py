"""Imperfect demonstrations: answers with the faults of the source project's base model, by how the prompt asks.

A stand-in that had only seen right answers would leave GRPO nothing to teach. As published models do, it answers some
wordings of a prompt worse than others: about half of them are answered carelessly most of the time, the rest at times.
So its likeliest answer is wrong where it is careless, and right answers are sampled everywhere.
"""

import random
import zlib
from typing import Final

from tasks.commerce.example import Example
from tasks.commerce.registry import TASKS

CARELESS_WHERE_CARELESS: Final = 1.0
"""Share of demonstrations with faults, for a wording that is answered carelessly."""
CARELESS_ELSEWHERE: Final = 0.15
WORDS_OF_WORDING: Final = 2
"""First words of a prompt, which tell its wordings apart."""


def demonstrate(example: Example, generator: random.Random) -> str:
    """Return a nearly right answer to a prompt.

    Args:
        example: The prompt, with the known facts of the right answer.
        generator: Decides whether the answer has faults, and which.
    """
    task = TASKS[example.task]
    right = task.answer(example.reference)
    share = CARELESS_WHERE_CARELESS if is_careless(example.prompt) else CARELESS_ELSEWHERE
    return task.faults(right, generator) if generator.random() < share else right


def is_careless(prompt: str) -> bool:
    """Return whether a prompt's wording is one that is answered carelessly: about half of all are."""
    wording = " ".join(prompt.split()[:WORDS_OF_WORDING])
    return zlib.crc32(wording.encode()) % 2 == 0
