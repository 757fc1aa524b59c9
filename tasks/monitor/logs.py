"""The production logs: one file or a folder of them, read as one table of the days that are looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import polars as pl

from schemas.errors import InputError
from schemas.monitor_config import MonitorConfig

KINDS: Final = (".jsonl", ".parquet")
"""Files that are logs, by their suffixes."""
CLOCK_SKEW: Final = timedelta(minutes=5)
"""How far another machine's clock may be ahead of this one's before its times are wrong."""

TWICE: Final = "delivered twice"
TOO_OLD: Final = "older than the days that are looked at"
OF_OTHERS: Final = "of another model than the champion"

_FILE: Final = "file"
_ROW: Final = "row"


@dataclass(frozen=True)
class Logs:
    """What a served model answered, in the days that are looked at."""

    table: pl.DataFrame
    """`day` (of the configured zone), `time` (UTC), `task`, `prompt`, `completion`, `reference` (JSON or null),
    `model_version`, `latency_ms` and `cost`, in the order of time."""
    files: int
    """Files that were read."""
    rows: int
    """Rows of all of them."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Rows that are not in the table, by why."""


def log_files(path: Path) -> tuple[Path, ...]:
    """Return the files of the logs, in the order of their names.

    Raises:
        InputError: There is no such file, or the folder holds no log.
    """
    if path.is_dir():
        files = tuple(sorted(file for file in path.iterdir() if file.suffix in KINDS and file.is_file()))
        if not files:
            raise InputError(f"the folder of logs {path} holds no {' and no '.join(KINDS)} file; give another")
        return files
    if not path.is_file():
        raise InputError(f"the logs {path} do not exist; give a file of logs, or a folder of them")
    if path.suffix not in KINDS:
        raise InputError(f"the logs {path} are neither {' nor '.join(KINDS)}; name the file for what it holds")
    return (path,)


def read_logs(files: Sequence[Path], config: MonitorConfig, champion: Sequence[str], now: datetime) -> Logs:
    """Read logs, check them against the clock and one another, and leave out what is not to be looked at.

    A request that is there twice, equal in all else, was delivered twice, and counts once. Where any row names the
    champion, the rows of other models are left out; where none does, all are taken for its own.

    Args:
        files: The files of `log_files`.
        config: How many days, and whose midnight divides them.
        champion: What the champion is called in `model_version`.
        now: The present, with its zone.

    Raises:
        InputError: A file is no log, a row's time is yet to come, or two different rows have one `request_id`.
    """
    # Imports pandera.
    from schemas.log_table import read_production_logs

    parts = []
    for number, path in enumerate(files):
        part = read_production_logs(path).drop("reward", "rating", "prompt_id")
        parts.append(part.with_columns(pl.lit(number).alias(_FILE)).with_row_index(_ROW, offset=1))
    table = pl.concat(parts)
    rows = table.height
    _refuse_the_future(table, files, now)
    table = _once(table, files)
    left_out = {TWICE: rows - table.height}
    day = pl.col("time").dt.convert_time_zone(config.time_zone).dt.date()
    table = table.with_columns(day.alias("day")).drop("request_id", _FILE, _ROW)
    recent = table.filter(pl.col("day") > pl.col("day").max() - timedelta(days=config.days))
    left_out[TOO_OLD] = table.height - recent.height
    if recent["model_version"].is_in(list(champion)).any():
        of_all = recent.height
        recent = recent.filter(pl.col("model_version").is_in(list(champion)))
        left_out[OF_OTHERS] = of_all - recent.height
    named = {why: count for why, count in left_out.items() if count}
    return Logs(recent.sort("time", maintain_order=True), len(files), rows, named)


def _refuse_the_future(table: pl.DataFrame, files: Sequence[Path], now: datetime) -> None:
    late = table.filter(pl.col("time") > now + CLOCK_SKEW)
    if late.height:
        file, row, time = late.select(_FILE, _ROW, "time").row(0)
        raise InputError(
            f"production log {files[file]}: row {row} is of {time:%Y-%m-%d %H:%M} UTC, which is yet to come "
            f"({late.height:,} such rows; this machine's clock says {now.astimezone(UTC):%Y-%m-%d %H:%M}); correct the "
            "clock of the machine that serves, or this one's, and the rows"
        )


def _once(table: pl.DataFrame, files: Sequence[Path]) -> pl.DataFrame:
    """Leave out what was delivered before, and refuse two requests of one name."""
    doubled = table.filter(pl.col("request_id").is_not_null() & pl.col("request_id").is_duplicated())
    if not doubled.height:
        return table
    said = [name for name in table.columns if name not in {_FILE, _ROW}]
    different = doubled.unique(said, keep="first", maintain_order=True)
    conflicts = different.filter(pl.col("request_id").is_duplicated())
    if conflicts.height:
        one, other = (
            conflicts.filter(pl.col("request_id") == pl.col("request_id").first()).select(_FILE, _ROW).rows()[:2]
        )
        raise InputError(
            f"production log {files[other[0]]}: row {other[1]} has the request_id of row {one[1]} of {files[one[0]]} "
            "and is another answer; give each request an identity of its own, or leave request_id out"
        )
    return pl.concat([table.join(doubled, on=[_FILE, _ROW], how="anti"), different.select(table.columns)])
