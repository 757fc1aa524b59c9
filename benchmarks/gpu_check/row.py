"""Row of the check's table, and its form in a file."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

Verdict = Literal["ok", "MISSED", "not here"]


@dataclass(frozen=True)
class Row:
    """One measurement."""

    name: str
    measured: str
    """The finding, in words and numbers."""
    limit: str
    """The limit; empty where a figure is only reported."""
    verdict: Verdict
    """`not here` where it needs something that is not installed, or a GPU."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """The finding in numbers, for files that others read: bytes, seconds, tokens a second, shares from 0 to 1."""


def row_of(name: str, measured: str, limit: str, figures: Mapping[str, Any] | None = None, *, within: bool) -> Row:
    """Return a row that is `ok` where its limit is kept."""
    return Row(name, measured, limit, "ok" if within else "MISSED", figures or {})


def append_row(file: Path, row: Row) -> None:
    """Append a row to a file of JSON Lines: rows of a process that died later are kept."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(asdict(row)) + "\n")


def read_rows(file: Path) -> list[Row]:
    """Read the rows of a file; none where there is no file."""
    if not file.exists():
        return []
    return [Row(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]
