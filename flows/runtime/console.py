"""Terminal output within its columns: progress with an estimate on a terminal, plain lines elsewhere."""

import os
import re
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from flows.runtime.language import in_language
from flows.runtime.signals import refuse_if_interrupted
from schemas.progress import Progress as Report
from schemas.progress import silent

SECONDS_BEFORE_LINES = 2.0
SECONDS_BETWEEN_LINES = 10.0
_quiet = False
_display: Progress | None = None
_DISPLAY_LOCK: Final = threading.Lock()
_CAPTURED: Final[ContextVar[list[str] | None]] = ContextVar("captured", default=None)

COMMAND: Final = re.compile(r"`[^`]{1,200}`")
NO_BREAK: Final = "\ue000"
"""Stands for a blank at which no line ends: of private use, so that no text has it."""
COLUMNS: Final = 100
"""Width of what is printed to no terminal, and most columns of a table there."""

console = Console(stderr=True, highlight=False, emoji=False, width=None if sys.stderr.isatty() else COLUMNS)


@contextmanager
def captured() -> Iterator[list[str]]:
    """Keep this thread's lines until the block ends; those that are then left in the given list are printed."""
    lines: list[str] = []
    token = _CAPTURED.set(lines)
    try:
        yield lines
    finally:
        _CAPTURED.reset(token)
        for line in lines:
            _line(line)


def be_quiet() -> None:
    """Print from now on only results, errors and warnings, and nothing of `say` or of progress."""
    global _quiet  # noqa: PLW0603 - one terminal, set once by the command
    _quiet = True


def show(text: str) -> None:
    """Print a sentence of a result, or an error, in lines of the terminal's width.

    A word that is longer than a line, such as a path, and a command in backticks stay whole, to be copied.
    """
    console.print(wrapped(in_language(text)), markup=False, soft_wrap=True)


def wrapped(text: str) -> str:
    """Return a text in lines of the terminal's width."""
    return "\n".join(map(_wrapped, text.split("\n")))


def _wrapped(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    unbroken = COMMAND.sub(lambda command: command[0].replace(" ", NO_BREAK), line.lstrip())
    wrapper = textwrap.TextWrapper(columns(), indent, indent, break_long_words=False, break_on_hyphens=False)
    wrapper.replace_whitespace = wrapper.expand_tabs = False
    return wrapper.fill(unbroken).replace(NO_BREAK, " ")


def columns() -> int:
    """Return the columns of a terminal; elsewhere those of the variable COLUMNS, by which a script has whole lines."""
    if console.is_terminal:
        return console.width
    given = os.environ.get("COLUMNS", "")
    return int(given) if given.isdecimal() and int(given) else COLUMNS


def say(text: str) -> None:
    """Print one line about what is under way to the terminal."""
    if not _quiet:
        _line(text)


def warn(text: str, of: str | None = None) -> None:
    """Print one line of warning to the terminal, where nothing but results is printed too."""
    _line(f"warning: {text}" if of is None else f"{of}: warning: {text}")


def _line(text: str) -> None:
    if (lines := _CAPTURED.get()) is not None:
        lines.append(text)
    else:
        show(text)


@contextmanager
def stage_progress(stage: str) -> Iterator[Report]:
    """Show the progress of one stage while the block runs; an interrupted one ends with its next report."""
    on_terminal = console.is_terminal and not _quiet
    with _bar(stage) if on_terminal else nullcontext(silent if _quiet else _lines(stage)) as shown:

        def report(done: int, total: int, text: str) -> None:
            refuse_if_interrupted()
            shown(done, total, text)

        yield report


@contextmanager
def _bar(stage: str) -> Iterator[Report]:
    """Show a bar in the one display of the stages that are at work: of several rich draws the first alone."""
    global _display  # noqa: PLW0603 - one terminal
    with _DISPLAY_LOCK:
        if _display is None:
            first, last = TextColumn("{task.fields[stage]:<10}"), TextColumn("{task.description}")
            shown = (first, BarColumn(bar_width=30), MofNCompleteColumn(), TimeRemainingColumn(), last)
            _display = Progress(*shown, console=console, transient=True)
            _display.start()
        display = _display
        task = display.add_task("", total=None, stage=stage)
    try:
        yield lambda done, total, text: display.update(task, completed=done, total=total, description=in_language(text))
    finally:
        with _DISPLAY_LOCK:
            display.remove_task(task)
            if not display.tasks:
                display.stop()
                _display = None


def _lines(stage: str) -> Report:
    due = time.monotonic() + SECONDS_BEFORE_LINES
    first: tuple[float, int] | None = None
    units: int | None = None

    def report(done: int, total: int, text: str) -> None:
        nonlocal due, first, units
        now = time.monotonic()
        if total != units:
            # Other units, such as steps after the checks of a preflight, take another time.
            first, units = None, total
        if done and first is None:
            # Time before the first unit, such as loading libraries, says nothing about the units.
            first = now, done
        if now < due:
            return
        due = now + SECONDS_BETWEEN_LINES
        estimate = ""
        if first is not None and done > first[1]:
            estimate = f", about {(now - first[0]) / (done - first[1]) * (total - done):.0f} s to go"
        say(f"{stage}: {done}/{total} {text}{estimate}")

    return report
