"""Prompts from a simulated store: time for 5,000, and memory for 1,000,000.

Limits: 5,000 prompts in the report's mix, store included, in under 5 seconds (median of three runs, without imports);
1,000,000 in under 1.5 GB of resident memory. Each run is a process of its own.
"""

import json
import shutil
import statistics
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass

from benchmarks.harness import Report, run_benchmark
from benchmarks.processes import watch
from benchmarks.prompts import MIX
from benchmarks.synthesize.child import FOLDER

COUNT = 5_000
RUNS = 3
MAX_SECONDS = 5.0
MAX_GIGABYTES = 1.5
SECONDS_BETWEEN_SAMPLES = 0.05


@dataclass(frozen=True)
class Run:
    """One run of the stage, in a process of its own."""

    asked: int
    made: int
    orders: int
    import_seconds: float
    seconds: float
    peak_gigabytes: float
    """Peak of the process's resident memory, libraries included."""
    megabytes: float
    """Size of the prompts' file."""


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--big", type=int, default=1_000_000, help="prompts of the large run; 0 leaves it out")


def measure(report: Report, options: Namespace) -> None:
    """Make prompts of both sizes."""
    runs = [_run(COUNT, MIX) for _ in range(RUNS)]
    big = [_run(options.big, MIX)] if options.big else []
    shutil.rmtree(FOLDER, ignore_errors=True)
    report.table(
        "Prompts from a simulated store",
        {
            "asked": ",", "made": ",", "orders": ",", "import s": ".2f", "seconds": ".2f", "prompts/s": ",.0f",
            "peak GB": ".2f", "file MB": ".1f",
        },
        [
            (each.asked, each.made, each.orders, each.import_seconds, each.seconds, each.made / each.seconds,
             each.peak_gigabytes, each.megabytes)
            for each in [*runs, *big]
        ],
    )  # fmt: skip
    seconds = statistics.median(each.seconds for each in runs)
    report.limit(seconds < MAX_SECONDS, f"{COUNT:,} prompts in {seconds:.2f} s, limit {MAX_SECONDS:g}")
    for each in big:
        used = f"{each.asked:,} prompts in {each.peak_gigabytes:.2f} GB, limit {MAX_GIGABYTES:g}"
        report.limit(each.peak_gigabytes < MAX_GIGABYTES, used)
    for each in [*runs, *big]:
        report.limit(each.made == each.asked, f"{each.made:,} of {each.asked:,} prompts made")


def _run(count: int, mix: str) -> Run:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    child = watch("benchmarks.synthesize.child", str(count), mix, every=SECONDS_BETWEEN_SAMPLES)
    return Run(asked=count, peak_gigabytes=child.peak_gigabytes, **json.loads(child.output))


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
