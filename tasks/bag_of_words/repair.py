"""Answers with their broken JSON repaired: what a tolerant parser makes of the base, which costs no training."""

import json
from collections.abc import Sequence
from typing import TypeVar

from schemas.documents import Rollout
from tasks.commerce.registry import TASKS
from tasks.commerce.text.parser import Reading, parse_object
from tasks.commerce.truth_text import read_object

AnyRollout = TypeVar("AnyRollout", bound=Rollout)


def repaired(rollouts: Sequence[AnyRollout]) -> list[AnyRollout]:
    """Return all rollouts, those of broken JSON with the object in it, unless it says two things."""
    found = list(rollouts)
    for place, rollout in enumerate(rollouts):
        if TASKS[rollout.task].answers_in_json and read_object(rollout.completion) is None:
            read = parse_object(rollout.completion)
            if read.value and Reading.CONTRADICTED not in read.needed:
                completion = json.dumps(read.value, ensure_ascii=False)
                found[place] = rollout.model_copy(update={"completion": completion})
    return found
