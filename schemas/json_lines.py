"""Reader of JSON Lines: one document per line, each validated, each fault named by its line."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError

from schemas.errors import InputError
from schemas.faults import first_fault, shown_place
from schemas.text_file import wide_encoding

Document = TypeVar("Document", bound=BaseModel)

_MOST_NAMED = 5
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

    Lines that do not fit the model are skipped, and reported together once all were read.

    Args:
        path: The file.
        model: Model of each line.
        what: Name of the content for error messages, such as `rollouts`.
        size: Number of bytes to read, where somebody is still appending to the file.
    """
    faults = _Faults()
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
                if number == 1 and (wide := wide_encoding(line)):
                    raise InputError(f"{what} {path} is {wide}; save it as UTF-8")
                text = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
                if not text.strip():
                    # Blank lines at the end are no fault.
                    blank += 1
                    continue
                for at in range(number - blank, number):
                    faults.add(at, "nothing is there; remove the line")
                blank = 0
                try:
                    yield text, model.model_validate_json(text.decode("utf-8").rstrip("\n"), strict=True)
                except ValueError as error:
                    faults.add(number, _explain(error, model))
    except OSError as error:
        raise InputError(f"{what} {path} cannot be read: {error.strerror}") from None
    if number == blank:
        raise InputError(f"{what} {path} is empty; it needs one JSON object a line")
    if faults:
        raise InputError(f"{what} {path}: {faults}")


class _Faults(dict[str, list[int]]):
    """Faulty lines, each fault named once: a whole file may have the same one."""

    def add(self, line: int, fault: str) -> None:
        self.setdefault(fault if fault in self or len(self) < _MOST_NAMED else "", []).append(line)

    def __str__(self) -> str:
        named = []
        for fault, lines in self.items():
            more = f" and {len(lines) - 1:,} more" if len(lines) > 1 else ""
            named.append(f"line {lines[0]}{more}: {fault}" if fault else f"and {len(lines):,} more lines")
        return "; ".join(named)


def _explain(error: ValueError, model: type[BaseModel]) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1} is not UTF-8 ({error.reason}); save the file as UTF-8"
    if not isinstance(error, ValidationError):
        return str(error)
    fault = error.errors(include_url=False, include_input=False)[0]
    if fault["type"] == "extra_forbidden" and len(fault["loc"]) == 1:
        return f"{shown_place(fault['loc'])} is no key of it; the keys are {', '.join(model.model_fields)}"
    return first_fault(error)


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
