"""Task mix: a number of prompts split by weights, exactly."""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from schemas.errors import InputError
from schemas.tasks import TASK_NAMES, TaskName

_PART: Final = re.compile(rf"\s*({'|'.join(TASK_NAMES)})\s*=\s*(\d{{1,9}}(?:\.\d{{0,9}})?|\.\d{{1,9}})\s*", re.ASCII)


def read_mix(text: str) -> dict[TaskName, Fraction]:
    """Parse weights such as `extraction=40,push=10.5`; they need not sum to anything."""
    weights: dict[str, Fraction] = {}
    for part in text.split(","):
        found = _PART.fullmatch(part)
        if found is None:
            raise InputError(
                f"--mix: {part.strip()!r} is not TASK=WEIGHT with a number of 0 or more, such as push=12.5; the tasks "
                f"are {', '.join(TASK_NAMES)}"
            )
        if found[1] in weights:
            raise InputError(f"--mix names {found[1]} twice; give each task one weight")
        weights[found[1]] = Fraction(found[2].removesuffix("."))
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
