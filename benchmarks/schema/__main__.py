"""Schema of prompts on polars compared with the same declarations on pandera's pandas engine: `make bench NAME=schema`.

1,000,000 prompts of a simulated store. The columns' declarations are one and the same; the checks that read a row's
content are written for pandas in two ways: over columns (lists, and each distinct reference checked once) and, as is
more usual, row by row with `apply`. Each engine has a process of its own and the rows in memory before its time starts;
its peak is that of the whole process. First, all must find the same broken rows in a table with planted faults. Limit:
polars at least 5 times faster than the faster form for pandas (the median of three runs each, in turns; `apply` runs
once).
"""

import json
import shutil
import statistics
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import polars as pl

from benchmarks.harness import Report, run_benchmark
from benchmarks.prompts import MIX, make_prompts
from benchmarks.schema.engines import COLUMNS, ENGINES, POLARS, ROWS, Run

FOLDER: Final = Path(".tucano") / "benchmark-schema"
COUNT: Final = 1_000_000
RUNS: Final = 3
MIN_RATIO: Final = 5.0
PLANTED: Final[Mapping[str, pl.Expr]] = {
    "an edited prompt": pl.format("{}!", "prompt").alias("prompt"),
    "no prompt": pl.lit("").alias("prompt"),
    "a null prompt": pl.lit(None, pl.String).alias("prompt"),
    "no system text": pl.lit("").alias("system"),
    "an unknown task": pl.lit("poetry").alias("task"),
    "a null reference": pl.lit(None, pl.String).alias("reference"),
    "half a reference": pl.col("reference").str.slice(0, 9),
    "a reference of no task": pl.lit('{"colour":"red"}').alias("reference"),
    "a number past the largest": pl.lit('{"sql":1e999}').alias("reference"),
    "no id": pl.lit("abc").alias("prompt_id"),
    "another id": pl.lit("0" * 64).alias("prompt_id"),
    "a source in capitals": pl.lit("LOJA").alias("source"),
    "its own parent": pl.col("prompt_id").alias("parent_id"),
    "a parent of no form": pl.lit("parent").alias("parent_id"),
}
"""One fault of each kind; each is in one row, far apart."""
HARMLESS: Final[Mapping[str, pl.Expr]] = {
    "spaces in the reference": pl.col("reference").str.replace("{", "{ ", literal=True),
}
"""Unusual rows that are not faults."""


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--count", type=int, default=COUNT, help="prompts that are checked")


def measure(report: Report, options: Namespace) -> None:
    """Check faulty prompts, then time sound ones."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    prompts, faulty = _make(options.count)
    found = {engine: _run(engine, faulty).broken for engine in ENGINES}
    runs: dict[str, list[Run]] = {engine: [] for engine in ENGINES}
    for turn in range(RUNS):
        # In turns, so that other load of the machine slows both down.
        for engine in (POLARS, COLUMNS) if turn else ENGINES:
            runs[engine].append(_run(engine, prompts))
    shutil.rmtree(FOLDER)
    _report(report, options.count, runs)
    report.line(f"Planted: {len(PLANTED)} faulty rows, {len(HARMLESS)} that only looks so.")
    for engine, failures in found.items():
        report.line(f"  {engine}: {len({row for row, _ in failures})} rows, {len(failures)} failures")
    report.limit(len(set(map(tuple, found.values()))) == 1, "the engines find different failures")
    planted = {row for row, _ in found[POLARS]}
    report.limit(len(planted) == len(PLANTED), f"not the {len(PLANTED)} planted rows are found")
    refused = any(run.broken for of_engine in runs.values() for run in of_engine)
    report.limit(not refused, "rows without a fault are refused")


def _make(count: int) -> tuple[Path, Path]:
    """Write the prompts, and a small table of them with planted faults."""
    make_prompts(count, MIX, FOLDER)
    prompts, faulty = FOLDER / "prompts.parquet", FOLDER / "faulty.parquet"
    sample = pl.scan_parquet(prompts).head(10_000).collect()
    changes = [*PLANTED.values(), *HARMLESS.values()]
    step = sample.height // len(changes)
    parts = [sample[place * step : (place + 1) * step] for place in range(len(changes))]
    changed = [
        pl.concat([part[:-1], part[-1:].with_columns(change)]) for part, change in zip(parts, changes, strict=True)
    ]
    pl.concat(changed).write_parquet(faulty)
    return prompts, faulty


def _run(engine: str, file: Path) -> Run:
    command = [sys.executable, "-m", "benchmarks.schema.engines", engine, str(file)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    document = json.loads(output)
    return Run(**{**document, "broken": [tuple(each) for each in document["broken"]]})


def _report(report: Report, count: int, runs: Mapping[str, list[Run]]) -> None:
    seconds = {engine: statistics.median(run.seconds for run in of_engine) for engine, of_engine in runs.items()}
    rows = []
    for engine, of_engine in runs.items():
        each, peak = " ".join(f"{run.seconds:.2f}" for run in of_engine), max(run.peak_gigabytes for run in of_engine)
        rows.append((engine, each, seconds[engine], count / seconds[engine], peak, seconds[engine] / seconds[POLARS]))
    forms = {"engine": "", "seconds": "", "median": ".2f", "rows/s": ",.0f", "peak GB": ".2f", "times polars": ".1f"}
    report.table(f"The schema of {count:,} prompts", forms, rows)
    ratio = min(seconds[COLUMNS], seconds[ROWS]) / seconds[POLARS]
    report.limit(ratio >= MIN_RATIO, f"polars is {ratio:.1f} times as fast as pandas, limit {MIN_RATIO:g}")


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
