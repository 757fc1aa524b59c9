"""Production logs: a file or a folder of files, read as one table of the monitored days, and scrubbed.

A reference is JSON, where a character may be written as an escape and a number has no quotation marks. So it is parsed,
scrubbed value by value, and serialized again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import orjson
import polars as pl

from schemas.config.serve import MonitorConfig
from schemas.errors import InputError
from schemas.tables.production_logs import FeedbackCounts, LogFiles, read_feedback, read_production_logs, with_feedback
from tasks.personal_data.scrub import LEAST_PERSONAL

CLOCK_SKEW: Final = timedelta(minutes=5)
"""Tolerated lead of another machine's clock; later times are an error."""
MAX_NAMES: Final = 20
"""Model names in the logs that are counted."""

TWICE: Final = "delivered twice"
TOO_OLD: Final = "older than the days that are looked at"
EARLIER: Final = "from before the champion was promoted"
OF_OTHERS: Final = "of another model than the champion"
HALF_WRITTEN: Final = "written only in part when the logs were read"

_FILE: Final = "file"
_ROW: Final = "row"


@dataclass(frozen=True)
class Logs:
    """Answers of a served model on the monitored days."""

    table: pl.DataFrame
    """`day` (of the configured zone), `time` (UTC), `task`, `prompt`, `completion`, `reference` (JSON or null),
    `model_version`, `latency_ms`, `cost`, `rating`, and `known_before` (whether the log itself has a reference, which
    nobody chose by the answer), by time."""
    files: int
    rows: int
    models: Mapping[str | None, int]
    """Answers of these days by the logged model name, other models included: the most frequent names."""
    last: datetime
    """Time of the newest row, whatever model it is of."""
    left_out: Mapping[str, int]
    """Number of excluded rows, by reason."""
    feedback: FeedbackCounts


def read_logs(
    found: LogFiles,
    digests: Mapping[str, str],
    config: MonitorConfig,
    champion: Sequence[str],
    promoted_at: datetime | None,
    now: datetime,
) -> Logs:
    """Read logs, check them against the clock and each other, and exclude irrelevant rows.

    A request that occurs twice, equal in all else, was delivered twice, and counts once. Answers from before the
    champion's promotion are not its own. Neither are those that name another model; and if any row names the champion,
    those that name none are excluded too. Feedback is joined to the answers before any is excluded; a reference that
    the log has stays.

    Raises:
        InputError: A file is no log or no feedback, or was changed meanwhile, a row's time is in the future, or two
            different rows have one `request_id`.
    """
    parts = []
    for number, file in enumerate(found.files):
        if file.size:
            part = read_production_logs(file.path, file.size).drop("reward", "prompt_id")
            parts.append(part.with_columns(pl.lit(number).alias(_FILE)).with_row_index(_ROW, offset=1))
    feedback = read_feedback(found.feedback, now + CLOCK_SKEW)
    if found.digests() != digests:
        raise InputError(
            f"the logs {found.path} were changed while they were read; run the same command again when nobody "
            "changes what was written before"
        )
    files, delivered = [file.path for file in found.files], pl.concat(parts)
    _refuse_the_future(delivered, files, now)
    table = _once(delivered, files)
    left_out = {
        HALF_WRITTEN: sum(file.half_written for file in found.files),
        TWICE: delivered.height - table.height,
    }
    day = pl.col("time").dt.convert_time_zone(config.time_zone).dt.date()
    known_before = pl.col("reference").is_not_null().alias("known_before")
    table = table.with_columns(day.alias("day"), known_before).drop(_FILE, _ROW)
    table, joined = with_feedback(table, feedback, keep_references=True)
    recent = table.filter(pl.col("day") > pl.col("day").max() - timedelta(days=config.days))
    left_out[TOO_OLD] = table.height - recent.height
    own = recent if promoted_at is None else recent.filter(pl.col("time") >= promoted_at)
    left_out[EARLIER] = recent.height - own.height
    models = own["model_version"].value_counts(sort=True).sort("count", "model_version", descending=[True, False])
    is_named = pl.col("model_version").is_in(list(champion)).fill_null(value=False)
    counts = is_named if own.select(is_named.any()).item() else pl.col("model_version").is_null()
    kept = own.filter(counts)
    left_out[OF_OTHERS] = own.filter(~counts).height
    return Logs(
        kept.drop("request_id").sort("time", maintain_order=True),
        len(parts),
        delivered.height + left_out[HALF_WRITTEN],
        dict(models.head(MAX_NAMES).rows()),
        table.select(pl.col("time").max()).item(),
        {why: count for why, count in left_out.items() if count},
        joined,
    )


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
    """Remove repeated deliveries, and refuse two different requests with one id."""
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


TEXTS: Final = ("prompt", "completion", "model_version")

Scrub = Callable[[pl.Series], pl.Series]
"""Replaces the personal data in texts; null stays null."""


def scrubbed(answers: pl.DataFrame, scrub: Scrub) -> pl.DataFrame:
    """Return answers whose texts and references (JSON or null) have no personal data."""
    for column in TEXTS:
        if column in answers.columns:
            texts = answers[column].drop_nulls().unique(maintain_order=True)
            answers = _replaced(answers, column, texts, scrub(texts))
    known = answers["reference"].drop_nulls().unique(maintain_order=True)
    return _replaced(answers, "reference", known, scrubbed_references(known, scrub))


def scrubbed_references(references: pl.Series, scrub: Scrub) -> pl.Series:
    """Return JSON documents without personal data in their texts, their whole numbers and their keys.

    A personal number becomes a text; other numbers stay unchanged.
    """
    documents = [orjson.loads(text) for text in references]
    said = pl.Series([*dict.fromkeys(text for document in documents for text in _texts(document))], dtype=pl.String)
    clean = dict(zip(said, scrub(said), strict=True))
    written = [orjson.dumps(_rebuilt(document, clean)).decode() for document in documents]
    return pl.Series(references.name, written, pl.String)


def _replaced(answers: pl.DataFrame, column: str, old: pl.Series, new: pl.Series) -> pl.DataFrame:
    changed = (old != new).arg_true()
    if not len(changed):
        return answers
    return answers.with_columns(pl.col(column).replace(old.gather(changed), new.gather(changed)))


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts of a document, numbers in digits."""
    if (text := _as_text(value)) is not None:
        yield text
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield key
            yield from _texts(part)
    elif isinstance(value, Sequence):
        for part in value:
            yield from _texts(part)


def _rebuilt(value: Any, clean: Mapping[str, str]) -> Any:
    if (text := _as_text(value)) is not None:
        return value if clean[text] == text else clean[text]
    if isinstance(value, Mapping):
        return {clean[key]: _rebuilt(part, clean) for key, part in value.items()}
    if isinstance(value, Sequence):
        return [_rebuilt(part, clean) for part in value]
    return value


def _as_text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    # 52998224725.0 reveals as much as 52998224725.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(int(value)) if is_number and value >= LEAST_PERSONAL and value == int(value) else None
