"""Imperfect demonstrations: answers with the faults of the source project's base model.

A stand-in that had only seen right answers would leave GRPO nothing to teach. Where it was shown a fault more often
than not, its likeliest answer has it, and right answers are still sampled.

Queries are faulty by what is to be answered: as published models do, it answers some kinds worse than others. Elsewhere
faults come as often with each answer: kinds of JSON are its labels, of which training would avoid those that were shown
with faults, and kinds of pushes are too many to be learnt.
"""

import random
import re
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Final

from schemas.tasks import TaskName
from tasks.commerce.commerce_task import CommerceTask
from tasks.commerce.example import Example

SHARES: Final[Mapping[TaskName, float]] = MappingProxyType(
    {"extraction": 0.8, "insights": 0.8, "push": 0.8, "sentiment": 0.8, "churn": 0.8}
)
"""Shares of demonstrations with faults, of tasks whose answers are all equally likely to have them."""
SHARE_CARELESS: Final = 1.0
"""Share of demonstrations with faults, for an answer of a kind that is given carelessly."""
SHARE_CAREFUL: Final = 0.15
FIRST_WORDS: Final = 4
"""Words of a right answer that tell kinds of answers apart, such as an aggregate of a table."""
HALVES: Final = "12"
"""Salt of the hash that divides the kinds."""


def demonstrate(task: CommerceTask, example: Example, generator: random.Random) -> str:
    """Return a nearly right answer to a prompt."""
    right = task.answer(example.reference)
    share = SHARES.get(example.task, SHARE_CARELESS if is_careless(right) else SHARE_CAREFUL)
    return task.faults(right, generator) if generator.random() < share else right


def is_careless(right: str) -> bool:
    """Return whether answers of the kind of a right one are given carelessly: about half of all kinds are."""
    words = " ".join(re.findall(r"\w+", right)[:FIRST_WORDS])
    return sha256(f"{HALVES} {words}".encode()).digest()[0] % 2 == 0
