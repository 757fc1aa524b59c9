"""Reads JSON Lines: one document a line, each validated, each fault named by its line."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from schemas.errors import InputError

Document = TypeVar("Document", bound=BaseModel)

_MOST_NAMED = 5
_MOST_SHOWN = 20


def read_json_lines(path: Path, model: type[Document], what: str) -> tuple[Document, ...]:
    """Return the documents of a file in its order.

    Args:
        path: The file, in UTF-8.
        model: What each line must be.
        what: What the file holds, in words for error messages, such as `rollouts`.

    Raises:
        InputError: The file cannot be read or is empty, or lines are not such documents.
    """
    try:
        # Only a line feed ends a JSON line: `splitlines` would also split at separators inside a string.
        lines = path.read_text(encoding="utf-8-sig").rstrip("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{what} {path} cannot be read: {error}") from None
    if lines == [""]:
        raise InputError(f"{what} {path} is empty; it needs one JSON object a line")
    documents, faults = [], []
    for number, line in enumerate(lines, start=1):
        try:
            documents.append(model.model_validate_json(line, strict=True))
        except ValidationError as error:
            faults.append(f"line {number}: {first_fault(error)}")
    if faults:
        more = f"; and {len(faults) - _MOST_NAMED} more lines" if len(faults) > _MOST_NAMED else ""
        raise InputError(f"{what} {path}: {'; '.join(faults[:_MOST_NAMED])}{more}")
    return tuple(documents)


def first_fault(error: ValidationError) -> str:
    """Say where and what the first fault of a document is, and what stands there instead where that tells no text."""
    fault = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "missing":
        return f"{place} is missing"
    found = fault["input"]
    # A longer text may be a shopper's words, which belong in no message.
    shown = type(found).__name__ if isinstance(found, (str, dict, list)) and len(found) > _MOST_SHOWN else repr(found)
    return f"{place}: {fault['msg']} (it is {shown})" if place else str(fault["msg"])
