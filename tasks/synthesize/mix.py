"""Task mix: a number of prompts split by weights, exactly."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from schemas.errors import InputError
from schemas.tasks import TASK_NAMES, TaskName

MAX_CHARACTERS: Final = 12


def read_mix(text: str) -> dict[TaskName, Fraction]:
    """Parse weights such as `extraction=40,push=10.5`; they need not sum to anything.

    Raises:
        InputError: A part names no task, names one twice, or has no weight of 0 or more; or all are 0.
    """
    weights: dict[TaskName, Fraction] = {}
    for part in text.split(","):
        name, separator, number = (piece.strip() for piece in part.partition("="))
        task = next((task for task in TASK_NAMES if task == name), None)
        if not separator or task is None:
            raise InputError(f"--mix: {part.strip()!r} is not TASK=WEIGHT; the tasks are {', '.join(TASK_NAMES)}")
        if task in weights:
            raise InputError(f"--mix names {task} twice; give each task one weight")
        weights[task] = _weight(task, number)
    if not any(weights.values()):
        raise InputError("--mix gives no task a weight above 0; give at least one")
    return weights


def _weight(task: TaskName, number: str) -> Fraction:
    whole, _, decimals = number.partition(".")
    if not f"{whole}{decimals}".isdecimal() or not number.isascii() or len(number) > MAX_CHARACTERS:
        raise InputError(f"--mix: the weight {number!r} of {task} is not a number of 0 or more, such as 40 or 12.5")
    return Fraction(f"0{number}") if decimals or not number.endswith(".") else Fraction(f"0{whole}")


def split_count(count: int, weights: Mapping[TaskName, Fraction]) -> dict[TaskName, int]:
    """Split a number by weights, by the largest remainder: the parts sum to it, each within one of its exact share.

    Args:
        count: The number to split, 0 or more.
        weights: By task; at least one is above 0. Of equal remainders the earlier task's wins.
    """
    total = sum(weights.values())
    shares = {task: count * weights[task] / total for task in TASK_NAMES if task in weights}
    parts = {task: int(share) for task, share in shares.items()}
    by_remainder = sorted(shares, key=lambda task: parts[task] - shares[task])
    for task in by_remainder[: count - sum(parts.values())]:
        parts[task] += 1
    return parts
