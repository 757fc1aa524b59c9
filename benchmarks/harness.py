"""Frame of every benchmark: arguments, tables of at most 100 columns, missed limits, exit code and kept result.

def measure(report: Report, options: Namespace) -> None: ...

if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure))
"""

import argparse
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, TypeVar

from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.result import RESULTS, Result, this_commit, this_machine
from schemas.errors import InputError

WIDTH: Final = 100
Cell = str | int | float
Columns = Sequence[str] | Mapping[str, str]
Item = TypeVar("Item")
Found = TypeVar("Found")
Key = TypeVar("Key")


class Report:
    """Figures on stdout, and the limits that they miss."""

    def __init__(self) -> None:
        self._console = Console(width=WIDTH, record=True, markup=False, highlight=False)
        self.misses: list[str] = []

    def table(
        self, title: str, columns: Columns, rows: Iterable[Sequence[Cell] | None], *, left: Collection[str] = ()
    ) -> None:
        """Print a table.

        Args:
            title: Its title.
            columns: Names of the columns, or each name with the format of the numbers below it, such as ",.0f"; cells
                of the first are at the left, those of the others at the right.
            rows: Cells of each row, a text as it is; None draws a line.
            left: Further columns whose cells are at the left.
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
        """Check a limit.

        Args:
            met: True if the limit is met.
            miss: Sentence for a limit that is missed, with the figure and the limit.
        """
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

    Args:
        package: The benchmark's package, whose last part is its name.
        doc: Description of its figures and limits.
        measure: Measures, prints, and notes missed limits.
        arguments: Adds the options.
        given: Arguments instead of the command's.
        results: Folder of kept results.

    Returns:
        Exit code: 1 where a limit was missed, 2 for bad input.
    """
    name = package.rpartition(".")[2]
    parser = ArgumentParser(prog=f"python -m {package}", description=doc, formatter_class=_Help)
    arguments(parser)
    given = sys.argv[1:] if given is None else given
    options = parser.parse_args(given)
    report = Report()
    try:
        measure(report, options)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    for miss in report.misses:
        report.line(f"MISSED: {miss}")
    if not given:
        result = Result(
            command=f"make bench NAME={name}",
            machine=this_machine(),
            commit=this_commit(),
            missed=len(report.misses),
            printed=report.lines(),
        )
        print(f"kept in {result.write(name, results)}; `make bench-docs` puts it on the page", file=sys.stderr)
    return 1 if report.misses else 0


def add_overrides(parser: ArgumentParser) -> None:
    """Add the option that changes values of the benchmark's profile."""
    parser.add_argument("--set", action="append", default=[], metavar="A.B=C", help="override the profile")


def add_olist(parser: ArgumentParser) -> None:
    """Add `--olist`, the folder of Olist's real sample, which is in no repository."""
    parser.add_argument("--olist", type=Path, default=Path("../shared/olist"), metavar="DIR", help="Olist's CSV files")


def refuse_missing_olist(options: Namespace) -> None:
    """Refuse the real store among `--stores` where its folder is missing.

    Raises:
        InputError: There is no such folder.
    """
    if "real" in options.stores and not options.olist.is_dir():
        raise InputError(f"there is no folder {str(options.olist)!r}; give --olist DIR, or --stores simulated")


def progress(items: Iterable[Item], what: str, total: int | None = None) -> Iterable[Item]:
    """Return the items, with a progress bar on stderr."""
    return track(items, what, total=total, console=Console(stderr=True))


def map_in_processes(
    work: Callable[[Item], Found], items: Sequence[Item], processes: int, what: str, *, chunk: int = 1
) -> Iterator[Found]:
    """Yield what the work returns of each item, in their order; dividing them among processes changes none.

    Args:
        work: A function of a module that child processes can import, so not of a `__main__`.
        items: Its arguments.
        processes: Processes at once.
        what: Words beside the progress bar.
        chunk: Items that a process takes at a time.
    """
    with ProcessPoolExecutor(processes) as pool:
        yield from progress(pool.map(work, items, chunksize=chunk), what, len(items))


def run_in_processes(
    work: Callable[..., Found], jobs: Mapping[Key, tuple[Any, ...]], processes: int, what: str
) -> dict[Key, Found]:
    """Return what the work returns of each job, in their order; after a failure no further one begins.

    Args:
        work: A function of a module that child processes can import, so not of a `__main__`.
        jobs: Its arguments, by the names of the jobs.
        processes: Processes at once, each of which keeps what it has imported.
        what: Words beside the progress bar.
    """
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(work, *arguments): name for name, arguments in jobs.items()}
        try:
            found = {running[future]: future.result() for future in progress(as_completed(running), what, len(running))}
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return {name: found[name] for name in jobs}
