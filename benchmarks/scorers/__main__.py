"""Time that a new Python takes to import the benchmark's scorers: `python -m benchmarks.scorers`.

Bare Python, the import, and the import with one answer of each task scored, in turn, each a process of its own: median
processor seconds, and the fastest by the clock, which a busy machine prolongs. Which heavy libraries were imported is
counted too. Limits: 1 processor second for the import, and none of those libraries.
"""

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from pathlib import Path
from typing import Final

from benchmarks.harness import Report, run_benchmark
from schemas.progress import silent
from schemas.source import REPOSITORY
from tasks.benchmark.write import write_benchmark

MAX_SECONDS: Final = 1.0
HEAVY: Final = ("torch", "prefect", "mlflow", "pandera", "polars", "numpy")
IMPORT: Final = "from tasks.benchmark.scorers import Benchmark"
SCORE: Final = """
import sys
benchmark = Benchmark(sys.argv[1])
for item in benchmark.items.values():
    benchmark.score(item, "{}")
"""
COUNT: Final = f"\nimport sys\nprint([name for name in {HEAVY!r} if name in sys.modules])"


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--repeats", type=int, default=11, help="processes of each kind")


def measure(report: Report, options: Namespace) -> None:
    """Measure and print."""
    kinds = {"bare Python": "", "import": IMPORT, "import, six answers scored": IMPORT + SCORE}
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        write_benchmark(1, 1, 400, Path(folder), silent)
        for _ in range(options.repeats):
            for kind, code in kinds.items():
                found[kind].append(_run(code, folder))
        loaded = subprocess.run(
            [sys.executable, "-c", IMPORT + SCORE + COUNT, folder], capture_output=True, text=True, check=True,
            cwd=REPOSITORY,
        ).stdout.strip()  # fmt: skip
    processor = {kind: statistics.median(seconds for seconds, _ in runs) for kind, runs in found.items()}
    bare = processor["bare Python"]
    report.table(
        f"A new process, {options.repeats} of each kind",
        {"": "", "processor s": ".3f", "times bare Python": ".1f", "fastest by the clock, s": ".3f"},
        [
            (kind, seconds, seconds / bare, min(clock for _, clock in found[kind]))
            for kind, seconds in processor.items()
        ],
    )
    report.line(f"Heavy libraries that are imported: {loaded}")
    report.limit(
        processor["import"] < MAX_SECONDS, f"the import takes {processor['import']:.2f} s, limit {MAX_SECONDS:g} s"
    )
    report.limit(loaded == "[]", f"the scorers import {loaded}, limit none")


def _run(code: str, folder: str) -> tuple[float, float]:
    """Return processor seconds and seconds by the clock of one process."""
    before, started = _children(), time.perf_counter()
    subprocess.run([sys.executable, "-c", code, folder], check=True, cwd=REPOSITORY)
    return _children() - before, time.perf_counter() - started


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
