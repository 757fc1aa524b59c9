"""Imperfect demonstrations: answers with the faults of the source project's base model, by what is to be answered.

A stand-in that had only seen right answers would leave GRPO nothing to teach. As published models do, it answers some
kinds of prompts worse than others: about half of all answers, told apart by their first words, are given carelessly
most of the time, the rest at times. So its likeliest answer is wrong where it is careless, and right answers are
sampled everywhere. Most faults come late in an answer, where a small model has read its own first words.
"""

import random
import re
from hashlib import sha256
from typing import Final

from tasks.commerce.example import Example
from tasks.commerce.registry import TASKS

CARELESS_WHERE_CARELESS: Final = 1.0
"""Share of demonstrations with faults, for an answer that is given carelessly."""
CARELESS_ELSEWHERE: Final = 0.15
FIRST_WORDS: Final = 4
"""Words of a right answer that tell kinds of answers apart: a sentiment and its score, an aggregate of a table."""
HALVES: Final = "12"
"""Salt of the hash that divides the kinds: the first number by which each task has answers of both halves."""


def demonstrate(example: Example, generator: random.Random) -> str:
    """Return a nearly right answer to a prompt.

    Args:
        example: The prompt, with the known facts of the right answer.
        generator: Decides whether the answer has faults, and which.
    """
    task = TASKS[example.task]
    right = task.answer(example.reference)
    share = CARELESS_WHERE_CARELESS if is_careless(right) else CARELESS_ELSEWHERE
    return task.faults(right, generator) if generator.random() < share else right


def is_careless(right: str) -> bool:
    """Return whether answers of the kind of a right one are given carelessly: about half of all kinds are."""
    words = " ".join(re.findall(r"\w+", right)[:FIRST_WORDS])
    return sha256(f"{HALVES} {words}".encode()).digest()[0] % 2 == 0
