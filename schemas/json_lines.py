"""Reader of JSON Lines: one document per line, each validated; the first fault is named by its line."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError

from schemas.errors import InputError
from schemas.faults import first_fault, shown_place

Document = TypeVar("Document", bound=BaseModel)

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST = 64_000_000
"""Most bytes of a line: a file without line feeds would fill the memory."""


def read_json_lines(path: Path, model: type[Document], what: str) -> tuple[Document, ...]:
    """Return the documents of a file in its order; errors as of `stream_lines`."""
    return tuple(stream_json_lines(path, model, what))


def stream_json_lines(path: Path, model: type[Document], what: str, size: int | None = None) -> Iterator[Document]:
    """Yield the documents of a file in its order, as `stream_lines` does, without their lines."""
    return (document for _, document in stream_lines(path, model, what, size))


def stream_lines(
    path: Path, model: type[Document], what: str, size: int | None = None
) -> Iterator[tuple[bytes, Document]]:
    """Yield the lines of a file of UTF-8 in its order, each with its document, one in memory at a time.

    `what` names the content for messages. Of a file that somebody still appends to, only `size` bytes are read.
    """
    number, blank = 0, 0
    try:
        # Read as bytes, because only a line feed ends a JSON line: text mode would also split at a carriage return.
        with path.open("rb") as lines:
            for number, line in enumerate(_beginning(lines, size), start=1):
                if len(line) > _LONGEST:
                    raise InputError(
                        f"{what} {path}: line {number} is longer than {_LONGEST // 10**6} MB; write one JSON object a "
                        "line, each with a line feed after it"
                    )
                text = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
                if b"\0" in text:
                    raise InputError(f"{what} {path}: line {number} has NUL bytes, as UTF-16 has; save it as UTF-8")
                if not text.strip():
                    # Blank lines at the end are no fault.
                    blank += 1
                    continue
                if blank:
                    raise InputError(f"{what} {path}: line {number - blank}: nothing is there; remove the line")
                try:
                    yield text, model.model_validate_json(text.decode("utf-8").rstrip("\n"), strict=True)
                except ValueError as error:
                    raise InputError(f"{what} {path}: line {number}: {_explain(error, model)}") from None
    except OSError as error:
        raise InputError(f"{what} {path} cannot be read ({error.strerror}); name another file") from None
    if number == blank:
        raise InputError(f"{what} {path} is empty; it needs one JSON object a line")


def _explain(error: ValueError, model: type[BaseModel]) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1} is not UTF-8 ({error.reason}); save the file as UTF-8"
    if not isinstance(error, ValidationError):
        return str(error)
    fault = error.errors(include_url=False, include_input=False)[0]
    if fault["type"] == "extra_forbidden" and len(fault["loc"]) == 1:
        return f"{shown_place(fault['loc'])} is no key of it; the keys are {', '.join(model.model_fields)}"
    return first_fault(error) + ("; write one JSON object a line" if fault["type"] == "json_invalid" else "")


def _beginning(lines: BinaryIO, size: int | None) -> Iterator[bytes]:
    left = math.inf if size is None else size
    while left and (line := lines.readline(int(min(left, _LONGEST + 1)))):
        left -= len(line)
        yield line


def gives_a_key_twice(text: str | bytes) -> bool:
    """Return whether an object of a JSON text has a key twice; a text that is no JSON has none."""
    found = False

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        keys = dict(pairs)
        found |= len(keys) < len(pairs)
        return keys

    try:
        json.loads(text, object_pairs_hook=look)
    except (ValueError, RecursionError):
        return False
    return found
