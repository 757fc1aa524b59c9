"""Frame of every benchmark: arguments, tables of at most 100 columns, missed limits, exit code and kept result.

def measure(report: Report, options: Namespace) -> None: ...

if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure))
"""

import argparse
import os
import platform
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Final, TypeVar

import psutil
from pydantic import BaseModel, ConfigDict
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from schemas.errors import InputError

BENCHMARKS: Final = Path(__file__).parent
RESULTS: Final = BENCHMARKS / "results"
WIDTH: Final = 100
PROCESSES: Final = 2
Cell = str | int | float
Columns = Sequence[str] | Mapping[str, str]
Item = TypeVar("Item")
Found = TypeVar("Found")
Key = TypeVar("Key")


class Result(BaseModel):
    """Kept result of a benchmark's last whole run; the benchmark's name is the file's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: str
    machine: str
    """Processors, memory, system and Python; no name of the machine."""
    missed: int
    """Number of missed limits."""
    commit: str
    """Code that ran, such as `7dde83d (tree 9f1c2ab) of 2026-11-28`; behind `+` some files were changed."""
    printed: list[str]
    """Lines on stdout, without trailing spaces."""
    reading: str = ""
    """A reader's words about these figures, in Markdown; the next run drops them."""


def read_result(name: str, folder: Path = RESULTS) -> Result | None:
    """Return the kept result of a benchmark; None where none was kept."""
    file = folder / f"{name}.json"
    return Result.model_validate_json(file.read_text(encoding="utf-8")) if file.is_file() else None


def this_commit() -> str:
    """Return the commit of this checkout, its tree and its day."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=BENCHMARKS, check=True, capture_output=True, text=True
        ).stdout.strip()

    commit, tree, day = git("log", "-1", "--format=%h %t %as").split()
    changed = git("status", "--porcelain", "--untracked-files=no", ":!results")
    return f"{commit}{'+' if changed else ''} (tree {tree}) of {day}"


def this_machine() -> str:
    """Return words for the machine, without its name."""
    memory = f"{psutil.virtual_memory().total / 2**30:.0f} GiB"
    python = ".".join(platform.python_version_tuple()[:2])
    return f"{os.cpu_count()} {platform.machine()} processors, {memory}, {platform.system()}, Python {python}"


class Report:
    """Figures on stdout, and the limits that they miss."""

    def __init__(self) -> None:
        self._console = Console(width=WIDTH, record=True, markup=False, highlight=False)
        self.misses: list[str] = []

    def table(
        self, title: str, columns: Columns, rows: Iterable[Sequence[Cell] | None], *, left: Collection[str] = ()
    ) -> None:
        """Print a table; cells of the first column, and of those named in `left`, are at the left.

        Columns are names, or each name with the format of the numbers below it, such as ",.0f"; a row of None draws a
        line.
        """
        forms = list(columns.values()) if isinstance(columns, Mapping) else [""] * len(columns)
        # A table's own title would be as narrow as the table.
        self.line(title)
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for place, name in enumerate(columns):
            table.add_column(name, justify="left" if not place or name in left else "right", overflow="fold")
        for row in rows:
            if row is None:
                table.add_section()
            else:
                cells = zip(row, forms, strict=False)
                table.add_row(*(cell if isinstance(cell, str) else format(cell, form) for cell, form in cells))
        self._console.print(table)

    def line(self, text: str = "") -> None:
        """Print a sentence, in as many lines as it needs."""
        self._console.print(text)

    def limit(self, met: object, miss: str) -> None:
        """Note the sentence `miss`, with the figure and the limit, unless the limit is met."""
        if not met:
            self.misses.append(miss)

    def lines(self) -> list[str]:
        """Return what was printed, without trailing spaces."""
        return [line.rstrip() for line in self._console.export_text(clear=False).rstrip().split("\n")]


class _Help(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
    """Descriptions as they are written, and every option's default."""


def run_benchmark(
    package: str,
    doc: str,
    measure: Callable[[Report, Namespace], None],
    arguments: Callable[[ArgumentParser], None] = lambda _: None,
    *,
    given: Sequence[str] | None = None,
    results: Path = RESULTS,
) -> int:
    """Run a benchmark, and keep the result of a whole run: one without options, as `make bench` starts it.

    The package's last part is its name, `doc` describes figures and limits, and `arguments` adds the options; tests
    give arguments in place of the command's. The exit code is 1 where a limit was missed, 2 for bad input.
    """
    name = package.rpartition(".")[2]
    parser = ArgumentParser(prog=f"python -m {package}", description=doc, formatter_class=_Help)
    arguments(parser)
    given = sys.argv[1:] if given is None else given
    options = parser.parse_args(given)
    report, commit = Report(), this_commit()
    try:
        measure(report, options)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    for miss in report.misses:
        report.line(f"MISSED: {miss}")
    if not given:
        command = f"make bench NAME={name}"
        result = Result(
            command=command, machine=this_machine(), commit=commit, missed=len(report.misses), printed=report.lines()
        )
        file = results / f"{name}.json"
        file.write_text(f"{result.model_dump_json(indent=1)}\n", encoding="utf-8")
        print(f"kept in {file}; `make bench-docs` puts it on the page", file=sys.stderr)
    return 1 if report.misses else 0


def add_overrides(parser: ArgumentParser) -> None:
    """Add the option that changes values of the benchmark's profile."""
    parser.add_argument("--set", action="append", default=[], metavar="A.B=C", help="override the profile")


def progress(items: Iterable[Item], what: str, total: int | None = None) -> Iterable[Item]:
    """Return the items, with a progress bar on stderr."""
    return track(items, what, total=total, console=Console(stderr=True))


def map_in_processes(
    work: Callable[[Item], Found], items: Sequence[Item], what: str, *, chunk: int = 1
) -> Iterator[Found]:
    """Yield what the work, which child processes import, returns of each item, in their order.

    Each process takes `chunk` items at a time, and keeps what it has imported; `what` is beside the progress bar.
    """
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        yield from progress(pool.map(work, items, chunksize=chunk), what, len(items))


def simulate_in_chunks(
    work: Callable[[tuple[Item, int, tuple[int, int]]], Found],
    wanted: Mapping[Key, tuple[Item, int]],
    what: str,
    chunk: int,
) -> dict[Key, list[Found]]:
    """Return what the work returns of each part of each wanted count: its item, the part's count, its random stream."""
    parts = [
        (key, (item, min(chunk, count - done), (number, done)))
        for number, (key, (item, count)) in enumerate(wanted.items())
        for done in range(0, count, chunk)
    ]
    found: dict[Key, list[Found]] = {key: [] for key in wanted}
    for (key, _), each in zip(parts, map_in_processes(work, [part for _, part in parts], what), strict=True):
        found[key].append(each)
    return found
