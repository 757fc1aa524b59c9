"""Imperfect demonstrations for the stand-in's warm start, with the faults of the source project's base model.

A stand-in that had only seen right answers would leave GRPO nothing to teach. Each demonstration is the reference
answer with some of: wrong JSON types, missing fields, wrong values, chatter around the answer, over-long and formal
pushes, flat insights, careless SQL. The right forms are among them, each often enough to be sampled.
"""

import random
from collections.abc import Mapping
from typing import Any

from schemas.tasks import TaskName
from tasks.commerce import registry


def demonstrate(task: TaskName, reference: Mapping[str, Any], generator: random.Random) -> str:
    """Return a nearly right answer for the stand-in to learn.

    Args:
        task: The prompt's task.
        reference: The known facts of the right answer.
        generator: Decides the answer's faults.
    """
    known = registry.TASKS[task]
    return known.faults(known.answer(reference), generator)
