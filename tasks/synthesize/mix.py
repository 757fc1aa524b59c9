"""Task mix: a number of prompts split by weights, exactly."""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from schemas.errors import InputError
from schemas.tasks import TASK_NAMES, TaskName

_WEIGHT: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)


def read_mix(text: str) -> dict[TaskName, Fraction]:
    """Parse weights such as `extraction=40,push=10.5`; they need not sum to anything."""
    weights: dict[str, Fraction] = {}
    for part in text.split(","):
        task, _, weight = (each.strip() for each in part.partition("="))
        if task not in TASK_NAMES or not _WEIGHT.fullmatch(weight):
            raise InputError(
                f"--mix: {part.strip()!r} is not TASK=WEIGHT with a number of 0 or more, such as push=12.5; the tasks "
                f"are {', '.join(TASK_NAMES)}"
            )
        if task in weights:
            raise InputError(f"--mix names {task} twice; give each task one weight")
        weights[task] = Fraction(weight)
    if not any(weights.values()):
        raise InputError("--mix gives no task a weight above 0; give at least one")
    return {task: weights[task] for task in TASK_NAMES if task in weights}


def split_count(count: int, weights: Mapping[TaskName, Fraction]) -> dict[TaskName, int]:
    """Split a number by weights, by the largest remainder: the parts sum to it, each within one of its exact share."""
    total = sum(weights.values())
    shares = {task: count * weights[task] / total for task in TASK_NAMES if task in weights}
    parts = {task: int(share) for task, share in shares.items()}
    by_remainder = sorted(shares, key=lambda task: parts[task] - shares[task])
    for task in by_remainder[: count - sum(parts.values())]:
        parts[task] += 1
    return parts
