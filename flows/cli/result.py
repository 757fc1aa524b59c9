"""Results of commands: a document, sentences and tables within 100 columns, and folders written as a whole."""

import glob
import json
import os
import re
import shutil
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil
import typer
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table as RichTable
from rich.text import Text

from flows.runtime.console import COLUMNS, columns, console, wrapped
from flows.runtime.language import in_language, run_language
from flows.runtime.signals import interruptible
from schemas.disk import replace_whole
from schemas.errors import InputError
from schemas.shown_text import as_shown
from tasks.report.number_format import decimal as decimal_of
from tasks.report.number_format import signed
from tasks.report.wording import spoken, worded

MAX_CELL: Final = 1_200
COLOURS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("promote", "better", "passed", "agrees", "ok", "whole"), "green"),
    **dict.fromkeys(("inconclusive", "non-inferior", "no better", "warning"), "yellow"),
    **dict.fromkeys(("hold", "worse", "not learned", "below floor", "collapsed", "refused", "fault"), "red"),
}
"""Colours of verdicts, on a terminal without NO_COLOR."""
_DIGEST: Final = re.compile("[0-9a-f]{64}")
_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)\S*")


@dataclass(frozen=True)
class Table:
    """A part of a document as a table.

    Example:
        `Table("Trainings", document["trainings"], "seed reward=best.reward 95_%=low..high")` has three columns: `seed`,
        `reward` from the object `best`, and `95 %` from two numbers, as "0.1 to 0.3".
    """

    title: str
    rows: Iterable[Mapping[str, Any]] | Mapping[Any, Mapping[str, Any]]
    """Objects, or objects by name; a name is the column `name`."""
    columns: str
    """Columns with blanks between them: a path in the object, or `heading=path`; `_` is a blank in headings.

    A column without any value is left out; sizes, times and prices are shown by their keys, as in `UNITS`.
    """


def facts(title: str, document: Mapping[str, Any]) -> Table:
    """Return a document's values as a table of two columns; what is empty or unknown is left out."""
    shown = {name: value for name, value in document.items() if value not in (None, [], {})}
    rows = [{"fact": name.replace("_", " "), "value": value} for name, value in shown.items()]
    return Table(title, rows, "fact value")


def show(document: Any, parts: Iterable[str | Table], *, as_json: bool) -> None:
    """Print a result in the run's language: its sentences and tables, or with --json the document, these on stderr."""
    width = None if sys.stdout.isatty() else COLUMNS
    target = console if as_json else Console(highlight=False, emoji=False, width=width)
    with spoken(run_language()):
        for part in parts:
            text = Text(wrapped(in_language(worded(part.title) if isinstance(part, Table) else part)))
            for verdict, colour in COLOURS.items():
                text.highlight_regex(rf"^{worded(verdict)}(?=:)|(?<= ){worded(verdict)}$", colour)
            target.print(text, soft_wrap=True)
            if isinstance(part, Table):
                _print_table(part, target)
    if as_json:
        typer.echo(json.dumps(document, ensure_ascii=False))


def cell(value: Any) -> str:  # noqa: PLR0911 - one a kind of value
    """Return a value of a JSON document as a table shows it."""
    match value:
        case None:
            return "-"
        case bool():
            return worded("yes") if value else worded("no")
        case int():
            return decimal_of(value, 0) if abs(value) >= 10_000 else str(value)
        case float():
            return f"< {decimal_of(0.001)}" if 0 < value < 5e-4 else decimal_of(value, 3 if abs(value) < 100 else 1)
        case str() if _DIGEST.fullmatch(value):
            return value[:12]
        case str() if moment := _MOMENT.fullmatch(value):
            return f"{moment[1]} {moment[2]}"
        case str():
            text = as_shown(value)
            return text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]}…"
        case Mapping():
            return "  ".join(f"{name} {cell(each)}" for name, each in value.items())
        case Iterable():
            return ", ".join(map(cell, value))
    return str(value)


def plural(count: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _print_table(table: Table, target: Console) -> None:
    rows = table.rows
    if isinstance(rows, Mapping):
        rows = [{"name": name, **row} for name, row in rows.items()]
    shown: dict[str, list[Text]] = {}
    texts = {0}
    for column in table.columns.split():
        heading, _, path = column.partition("=")
        path = path or heading
        values = [_value(row, path) for row in rows]
        if any(value is not None for value in values) or not values:
            is_number = path.rpartition(".")[2] in UNITS or all(isinstance(each, int | float | None) for each in values)
            texts |= set() if is_number else {len(shown)}
            # A stage is called `promote`, too, which is no verdict of it.
            cells = [Text(cell(value)) if path == "name" else _as_cell(value) for value in values]
            shown["" if heading == "name" else in_language(worded(re.sub("[_.]", " ", heading)))] = cells
    long = any("\n" in text.plain or len(text) > COLUMNS for cells in shown.values() for text in cells)
    drawn = RichTable(show_lines=long)
    for place, heading in enumerate(shown):
        drawn.add_column(heading, justify="left" if place in texts else "right", overflow="fold")
    for row in zip(*shown.values(), strict=True):
        drawn.add_row(*row)
    target.print(drawn, width=min(COLUMNS, columns()))


def _as_cell(value: Any) -> Text:
    """Return a value as its cell; a verdict in the run's language, with its colour."""
    is_verdict = isinstance(value, str) and value in COLOURS
    return Text(worded(value), COLOURS[value]) if is_verdict else Text(cell(value))


def _value(row: Mapping[str, Any], path: str) -> Any:
    if ".." in path:
        low, high = (_value(row, end) for end in path.split(".."))
        return None if low is None else worded("{low} to {high}", low=cell(low), high=cell(high))
    found: Any = row
    for key in path.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return UNITS[key](found) if key in UNITS and isinstance(found, int | float) else found


def _time(seconds: float) -> str:
    longer = f"{decimal_of(seconds / 60, 1)} min" if seconds < 3_600 else f"{decimal_of(seconds / 3_600, 1)} h"
    return f"{decimal_of(seconds, 1)} s" if seconds < 120 else longer


UNITS: Final[Mapping[str, Callable[[Any], str]]] = {
    "bytes": decimal,
    "seconds": _time,
    "cost_usd": "{:,.2f}".format,
    "spot_usd": "{:,.2f}".format,
    **dict.fromkeys(("mean_difference", "ci_low", "ci_high"), signed),
}
"""Texts of numbers by their key in the document."""
_DRAFT: Final = re.compile(r"([1-9][0-9]{0,9})-[0-9a-f]{8}")
"""Suffix of a draft's name: the process that writes it, and a random part."""


def write_file(path: Path, text: str) -> None:
    """Write a file as a whole, in place of an earlier one."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_whole(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); give a folder that you may write") from None


@contextmanager
def new_folder(path: Path, replaces: AbstractSet[str] = frozenset()) -> Iterator[Path]:
    """Provide an empty folder, renamed at once to the path; an earlier one of files in `replaces` alone is replaced."""
    goal = path.resolve()
    draft = goal.parent / f".{goal.name}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    missing: list[Path] = []
    try:
        missing = [folder for folder in goal.parents if not folder.exists()]
        _remove_abandoned(goal)
        if goal.exists() and not (goal.is_dir() and all(file.name in replaces for file in goal.iterdir())):
            raise InputError(f"{path} exists and is no empty folder; give a new one, or move it away")
        draft.mkdir(parents=True)
    except OSError as error:
        _remove(draft, missing)
        raise InputError(f"{path} cannot be written ({error.strerror}); give a folder that you may write") from None
    try:
        with interruptible(f"interrupted, and nothing is in {path}; run the same command again"):
            yield draft
            if goal.exists():
                shutil.rmtree(goal)
            draft.replace(goal)
    except BaseException:
        _remove(draft, missing)
        raise


def _remove_abandoned(goal: Path) -> None:
    """Remove what killed commands left of the same folder: it may hold personal data that was never scrubbed."""
    for draft in goal.parent.glob(f".{glob.escape(goal.name)}-*-*"):
        ours = _DRAFT.fullmatch(draft.name.removeprefix(f".{goal.name}-"))
        if ours and not psutil.pid_exists(int(ours[1])):
            shutil.rmtree(draft, ignore_errors=True)


def _remove(draft: Path, made_on_the_way: list[Path]) -> None:
    shutil.rmtree(draft, ignore_errors=True)
    for folder in made_on_the_way:
        # Another process may have put something there in the meantime.
        with suppress(OSError):
            folder.rmdir()
