"""Schema of prompts on polars compared with the same declarations on pandera's pandas engine: `make bench NAME=schema`.

1,000,000 prompts of a simulated store. The columns' declarations are one and the same; the checks that read a row's
content are written for pandas in two ways: over columns (lists, and each distinct reference checked once) and, as is
more usual, row by row with `apply`. Each engine has a process of its own and the rows in memory before its time starts;
its peak is that of the whole process. First, all must find the same broken rows in a table with planted faults. Limit:
polars at least 5 times faster than the faster form for pandas (the median of three runs each, in turns; `apply` runs
once).
"""

import argparse
import hashlib
import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any, Final

import polars as pl
from rich.console import Console
from rich.table import Table

FOLDER: Final = Path(".tucano") / "benchmark-schema"
COUNT: Final = 1_000_000
MIX: Final = "extraction=40,sql_qa=40,insights=10,push=10"
RUNS: Final = 3
MIN_RATIO: Final = 5.0
POLARS: Final = "polars"
COLUMNS: Final = "pandas, over columns"
ROWS: Final = "pandas, apply"
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
WHOLE: Final = ("reference_fits_its_task", "prompt_id_is_its_content", "parent_is_another_prompt")
"""Checks of whole rows; pandera's engines report their columns differently."""


@dataclass(frozen=True)
class Run:
    """One check of all rows, in a process of its own."""

    seconds: float
    """Time of the check alone."""
    peak_gigabytes: float
    """Peak of the process's resident memory, rows and libraries included."""
    broken: list[tuple[int, str]]
    """Row and check of each failure."""


def main() -> int:
    """Run the benchmark; the exit code says whether every limit was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=COUNT, help="prompts that are checked")
    parser.add_argument("--child", nargs=2, metavar=("ENGINE", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        engine, file = arguments.child
        print(json.dumps(vars(ENGINES[engine](Path(file)))))
        return 0
    shutil.rmtree(FOLDER, ignore_errors=True)
    prompts, faulty = _make(arguments.count)
    found = {engine: _run(engine, faulty).broken for engine in ENGINES}
    runs: dict[str, list[Run]] = {engine: [] for engine in ENGINES}
    for turn in range(RUNS):
        # In turns, so that other load of the machine slows both down.
        for engine in (POLARS, COLUMNS) if turn else ENGINES:
            runs[engine].append(_run(engine, prompts))
    shutil.rmtree(FOLDER)
    _print(arguments.count, runs, found)
    misses = _misses(runs, found)
    for miss in misses:
        print(f"MISSED: {miss}")
    return 1 if misses else 0


def _make(count: int) -> tuple[Path, Path]:
    """Write the prompts, and a small table of them with planted faults."""
    from schemas.config.config import SynthesizeConfig
    from schemas.progress import silent
    from tasks.synthesize import stage
    from tasks.synthesize.mix import read_mix, split_count

    FOLDER.mkdir(parents=True)
    config = SynthesizeConfig(counts=split_count(count, read_mix(MIX)))
    stage.run(config, 1, FOLDER, silent, FOLDER / "state")
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
    command = [sys.executable, "-m", "benchmarks.schema", "--child", engine, str(file)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    document = json.loads(output)
    return Run(**{**document, "broken": [tuple(each) for each in document["broken"]]})


def _with_polars(file: Path) -> Run:
    from schemas.tables.prompt_table import Prompts

    table = pl.read_parquet(file)
    return _timed(lambda: Prompts.validate(table, lazy=True))


def _over_columns(file: Path) -> Run:
    return _with_pandas(file, _references_by_columns, _ids_by_columns)


def _by_rows(file: Path) -> Run:
    return _with_pandas(file, _references_by_rows, _ids_by_rows)


ENGINES: Final[Mapping[str, Callable[[Path], Run]]] = {POLARS: _with_polars, COLUMNS: _over_columns, ROWS: _by_rows}


def _with_pandas(file: Path, references: Callable[[Any], list[bool]], ids: Callable[[Any], list[bool]]) -> Run:
    import pandas as pd  # type: ignore[import-untyped]
    import pandera.pandas as pa

    from schemas.tables.prompt_table import Prompts

    frame = pd.read_parquet(file)
    columns = {
        name: pa.Column(str, checks=column.checks, nullable=column.nullable)
        for name, column in Prompts.to_schema().columns.items()
    }
    checks = [
        pa.Check(
            lambda rows: pd.Series(references(rows), index=rows.index), name="reference_fits_its_task", ignore_na=False
        ),
        pa.Check(lambda rows: pd.Series(ids(rows), index=rows.index), name="prompt_id_is_its_content", ignore_na=False),
        pa.Check(lambda rows: rows["parent_id"] != rows["prompt_id"], name="parent_is_another_prompt"),
    ]
    schema = pa.DataFrameSchema(columns, checks=checks, strict=True, name=Prompts.__name__)
    return _timed(lambda: schema.validate(frame, lazy=True))


def _references_by_columns(frame: Any) -> list[bool]:
    from schemas.tables.prompt_checks import reference_fits

    tasks, texts = _column(frame, "task"), _column(frame, "reference")
    fits = {pair: reference_fits(*pair) for pair in set(zip(tasks, texts, strict=True))}
    return [fits[pair] for pair in zip(tasks, texts, strict=True)]


def _ids_by_columns(frame: Any) -> list[bool]:
    texts = _column(frame, "reference")
    contents = [_column(frame, name) for name in ("task", "system", "prompt")]
    canonical = {text: _canonical(text) for text in set(texts)}
    identities = [
        hashlib.sha256(
            f'{{"prompt":{_quoted(prompt)},"reference":{canonical[text]},'
            f'"system":{_quoted(system)},"task":{_quoted(task)}}}'.encode()
        ).hexdigest()
        for task, system, prompt, text in zip(*contents, texts, strict=True)
    ]
    return [identity == given for identity, given in zip(identities, frame["prompt_id"].tolist(), strict=True)]


def _references_by_rows(frame: Any) -> list[bool]:
    from schemas.tables.prompt_checks import reference_fits

    verdicts = frame.apply(lambda row: reference_fits(_known(row["task"]), _known(row["reference"])), axis=1)
    return list(verdicts)


def _ids_by_rows(frame: Any) -> list[bool]:
    from schemas.tables.prompt_checks import id_fits

    return list(frame.apply(lambda row: id_fits({name: _known(value) for name, value in row.items()}), axis=1))


def _column(frame: Any, name: str) -> list[str | None]:
    values: list[Any] = frame[name].tolist()
    return [_known(value) for value in values] if frame[name].hasnans else values


def _known(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _quoted(text: str | None) -> str:
    return "null" if text is None else encode_basestring(text)


def _canonical(text: str | None) -> str:
    """Return a reference as it enters an identity; an invalid one becomes a text that no JSON begins with."""
    from schemas.tables.prompts import canonical_json

    try:
        return canonical_json(json.loads(text or ""))
    except (ValueError, RecursionError):
        return "?"


def _timed(check: Callable[[], object]) -> Run:
    from pandera.errors import SchemaErrors

    failures: Any = None
    started = time.perf_counter()
    try:
        check()
    except SchemaErrors as error:
        failures = error.failure_cases
    seconds = time.perf_counter() - started
    broken: set[tuple[int, str]] = set()
    if failures is not None:
        for column, name, row in zip(*(list(failures[part]) for part in ("column", "check", "index")), strict=True):
            kind = name.split("(")[0]
            broken.add((int(row), kind if kind in WHOLE else f"{column}: {kind}"))
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return Run(seconds, peak / 1e9, sorted(broken))


def _print(count: int, runs: Mapping[str, list[Run]], found: Mapping[str, list[tuple[int, str]]]) -> None:
    seconds = _seconds(runs)
    table = Table(title=f"The schema of {count:,} prompts", title_justify="left")
    for name in ("engine", "seconds", "median", "rows/s", "peak GB", "times polars"):
        table.add_column(name, justify="left" if name == "engine" else "right")
    for engine, of_engine in runs.items():
        table.add_row(
            engine,
            " ".join(f"{run.seconds:.2f}" for run in of_engine),
            f"{seconds[engine]:.2f}",
            f"{count / seconds[engine]:,.0f}",
            f"{max(run.peak_gigabytes for run in of_engine):.2f}",
            f"{seconds[engine] / seconds[POLARS]:.1f}",
        )
    Console(width=100).print(table)
    print(f"Planted: {len(PLANTED)} faulty rows, {len(HARMLESS)} that only looks so.")
    for engine, failures in found.items():
        print(f"  {engine}: {len({row for row, _ in failures})} rows, {len(failures)} failures")


def _misses(runs: Mapping[str, list[Run]], found: Mapping[str, list[tuple[int, str]]]) -> list[str]:
    seconds = _seconds(runs)
    ratio = min(seconds[COLUMNS], seconds[ROWS]) / seconds[POLARS]
    checks = {
        f"polars is {ratio:.1f} times as fast as pandas, limit {MIN_RATIO:g}": ratio >= MIN_RATIO,
        "the engines find different failures": len(set(map(tuple, found.values()))) == 1,
        f"not the {len(PLANTED)} planted rows are found": len({row for row, _ in found[POLARS]}) == len(PLANTED),
        "rows without a fault are refused": not any(run.broken for of_engine in runs.values() for run in of_engine),
    }
    return [what for what, met in checks.items() if not met]


def _seconds(runs: Mapping[str, list[Run]]) -> dict[str, float]:
    return {engine: statistics.median(run.seconds for run in of_engine) for engine, of_engine in runs.items()}


if __name__ == "__main__":
    sys.exit(main())
