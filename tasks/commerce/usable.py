"""Reading of answers as a shop's program reads them: strictly, and without a reference, which production has not."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tasks.commerce.text.parser import parse_object

Checks = Mapping[str, Callable[[Any], bool]]


class CheckedAnswer(NamedTuple):
    """An answer as it was read."""

    parsed: dict[str, Any] | str | None
    """A JSON task's object, else the answer itself; None where nothing can be read."""
    fault: str | None
    """Why it cannot be used; None where it can."""


def check_object(completion: str, checks: Checks) -> CheckedAnswer:
    """Read an answer that is to be one JSON object with exactly these fields, and nothing else.

    Args:
        completion: The answer, whatever it is.
        checks: By field, whether a value is one of its values.
    """
    read = parse_object(completion)
    if read.value is None:
        return CheckedAnswer(None, "it holds no JSON object")
    if read.needed:
        return CheckedAnswer(
            read.value, f"it is not strict JSON alone: {', '.join(sorted(each.value for each in read.needed))}"
        )
    if absent := [name for name in checks if name not in read.value]:
        return CheckedAnswer(read.value, f"it lacks {', '.join(absent)}")
    if others := [name for name in read.value if name not in checks]:
        return CheckedAnswer(read.value, f"it has {len(others)} fields that were not asked for")
    if wrong := [name for name, holds in checks.items() if not holds(read.value[name])]:
        return CheckedAnswer(read.value, f"{', '.join(wrong)} not of the values that are allowed")
    return CheckedAnswer(read.value, None)


def check_text(completion: str) -> CheckedAnswer:
    """Read an answer that may be any text."""
    text = completion.strip()
    return CheckedAnswer(text, None) if text else CheckedAnswer(None, "it is empty")
