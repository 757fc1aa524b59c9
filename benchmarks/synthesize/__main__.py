"""Prompts from a simulated store: time for 5,000, and memory for 1,000,000.

Limits: 5,000 prompts in the report's mix, store included, in under 5 seconds (median of three runs, without imports);
1,000,000 in under 1.5 GB of resident memory. Each run is a process of its own.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

FOLDER = Path(".tucano") / "benchmark-synthesize"
MIX = "extraction=40,sql_qa=40,insights=10,push=10"
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


def main() -> int:
    """Run the benchmark; the exit code says whether every limit was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--big", type=int, default=1_000_000, help="prompts of the large run; 0 leaves it out")
    parser.add_argument("--child", nargs=2, metavar=("COUNT", "MIX"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        return _make(int(arguments.child[0]), arguments.child[1])
    runs = [_run(COUNT, MIX) for _ in range(RUNS)]
    big = _run(arguments.big, MIX) if arguments.big else None
    shutil.rmtree(FOLDER, ignore_errors=True)
    _print([*runs, big] if big else runs)
    misses = _misses(runs, big)
    for miss in misses:
        print(f"MISSED: {miss}")
    return 1 if misses else 0


def _make(count: int, mix: str) -> int:
    """Make the prompts, and print the figures for the parent."""
    started = time.perf_counter()
    import pyarrow.parquet

    from schemas.config.config import SynthesizeConfig
    from schemas.progress import silent
    from tasks.synthesize import stage
    from tasks.synthesize.mix import read_mix, split_count

    assert pyarrow.parquet
    imported = time.perf_counter()
    config = SynthesizeConfig(counts=split_count(count, read_mix(mix)))
    summary = stage.run(config, 1, FOLDER, silent, FOLDER / "state")
    ended = time.perf_counter()
    print(
        json.dumps(
            {
                "made": sum(summary["made"].values()),
                "orders": summary["store"]["orders"],
                "import_seconds": imported - started,
                "seconds": ended - imported,
                "megabytes": (FOLDER / "prompts.parquet").stat().st_size / 1e6,
            }
        )
    )
    return 0


def _run(count: int, mix: str) -> Run:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    command = [sys.executable, "-m", "benchmarks.synthesize", "--child", str(count), mix]
    process = psutil.Popen(command, stdout=subprocess.PIPE, text=True)
    peak, done = 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(SECONDS_BETWEEN_SAMPLES):
            try:
                peak = max(peak, process.memory_info().rss)
            except psutil.NoSuchProcess:
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    output, _ = process.communicate()
    done.set()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"{count} prompts: the process ended with exit code {process.returncode}")
    return Run(asked=count, peak_gigabytes=peak / 1e9, **json.loads(output))


def _print(runs: list[Run]) -> None:
    table = Table(title="Prompts from a simulated store", title_justify="left")
    for name in ("asked", "made", "orders", "import s", "seconds", "prompts/s", "peak GB", "file MB"):
        table.add_column(name, justify="right")
    for run in runs:
        table.add_row(
            f"{run.asked:,}",
            f"{run.made:,}",
            f"{run.orders:,}",
            f"{run.import_seconds:.2f}",
            f"{run.seconds:.2f}",
            f"{run.made / run.seconds:,.0f}",
            f"{run.peak_gigabytes:.2f}",
            f"{run.megabytes:.1f}",
        )
    Console(width=100).print(table)


def _misses(runs: list[Run], big: Run | None) -> list[str]:
    seconds = statistics.median(run.seconds for run in runs)
    checks = {f"{COUNT:,} prompts in {seconds:.2f} s, limit {MAX_SECONDS:g}": seconds < MAX_SECONDS}
    if big is not None:
        used = f"{big.asked:,} prompts in {big.peak_gigabytes:.2f} GB, limit {MAX_GIGABYTES:g}"
        checks[used] = big.peak_gigabytes < MAX_GIGABYTES
    for run in [*runs, *([big] if big else [])]:
        checks[f"{run.made:,} of {run.asked:,} prompts made"] = run.made == run.asked
    return [what for what, met in checks.items() if not met]


if __name__ == "__main__":
    sys.exit(main())
