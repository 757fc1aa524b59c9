"""Logs of a served model, which may still be written, and the feedback on its answers, as tables.

A file counts up to the end of its last whole line. Feedback is joined to the answers by their request ids. Its newest
line counts, of references and of ratings each: who corrects a reference, or a rating, says so later. So it takes the
place of the log's too, except where answers are compared: nobody chose a reference of the log by the answer, and people
choose what to correct.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

import orjson
import polars as pl
from polars.exceptions import PolarsError
from pydantic import ValidationError

from schemas.documents import Feedback, LoggedAnswer
from schemas.errors import InputError
from schemas.faults import first_fault
from schemas.json_lines import stream_json_lines
from schemas.tables.rollout_tables import document_table, require_one_prompt_each

KINDS: Final = (".jsonl", ".parquet")
FEEDBACK_FOLDER: Final = "feedback"
"""Folder beside the logs with the files of feedback."""
FEEDBACK_SUFFIX: Final = ".jsonl"
_BLOCK: Final = 1 << 16


@dataclass(frozen=True)
class LogFile:
    """Log file, up to its size when it was found."""

    path: Path
    size: int
    """Bytes that count: later appended ones do not."""
    half_written: bool = False
    """Whether an incomplete line follows."""

    def digest(self) -> str:
        """Return the sha256 of the counted bytes."""
        digest, left = hashlib.sha256(), self.size
        try:
            with self.path.open("rb") as file:
                while left and (block := file.read(min(left, _BLOCK))):
                    digest.update(block)
                    left -= len(block)
        except OSError as error:
            raise InputError(f"the log {self.path} cannot be read: {error.strerror}") from None
        return digest.hexdigest()


@dataclass(frozen=True)
class LogFiles:
    """Log files as found."""

    path: Path
    files: tuple[LogFile, ...]
    empty: int = 0
    feedback: tuple[LogFile, ...] = ()
    """Files of the folder's feedback, in name order, without empty ones."""

    @property
    def bytes(self) -> int:
        """Return the number of bytes to read."""
        return sum(file.size for file in (*self.files, *self.feedback))

    def digests(self) -> dict[str, str]:
        """Return the sha256 of each file's counted bytes, by its name."""
        said = {f"{FEEDBACK_FOLDER}/{file.path.name}": file.digest() for file in self.feedback}
        return {file.path.name: file.digest() for file in self.files} | said


def log_files(path: Path) -> LogFiles:
    """Find the log files, which may all be empty (`require_rows`); those being written count up to their last line."""
    if path.is_dir():
        return files_of_folder(path)
    if not path.is_file():
        raise InputError(f"the logs {path} do not exist; give a file of logs, or a folder of them")
    if path.suffix not in KINDS:
        raise InputError(f"the logs {path} are neither {' nor '.join(KINDS)}; name the file for what it holds")
    return LogFiles(path, (LogFile(path, path.stat().st_size),))


def require_rows(found: LogFiles) -> None:
    """Refuse logs without any row."""
    if not any(file.size for file in found.files):
        raise InputError(f"{found.path} holds no {' and no '.join(KINDS)} file with an answer in it; give another")


def files_of_folder(folder: Path) -> LogFiles:
    """Find the log files of a folder, of which there may be none yet."""
    # A name that begins with a dot is a writer's temporary file.
    found = [_log_file(file) for file in sorted(folder.glob("[!.]*")) if file.suffix in KINDS and file.is_file()]
    filled = tuple(file for file in found if file.size or file.half_written)
    feedback = [_log_file(each) for each in sorted((folder / FEEDBACK_FOLDER).glob(f"[!.]*{FEEDBACK_SUFFIX}"))]
    return LogFiles(folder, filled, len(found) - len(filled), tuple(file for file in feedback if file.size))


def _log_file(path: Path) -> LogFile:
    """Return a file of a folder of logs, up to its last whole line."""
    try:
        size = path.stat().st_size
        if path.suffix == ".parquet":
            return LogFile(path, 0 if size and _has_no_row(path) else size)
        whole = end_of_last_line(path, size)
    except OSError as error:
        raise InputError(f"the log {path} cannot be read: {error.strerror}") from None
    return LogFile(path, whole, half_written=whole < size)


def _has_no_row(path: Path) -> bool:
    try:
        return not pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
    except (OSError, PolarsError):
        # The reader reports its faults.
        return False


def end_of_last_line(path: Path, size: int) -> int:
    """Return the bytes of a file up to the end of its last whole line; behind it a writer may be at work."""
    with path.open("rb") as file:
        end = size
        while end:
            begin = max(0, end - _BLOCK)
            file.seek(begin)
            last = file.read(end - begin).rfind(b"\n")
            if last >= 0:
                return begin + last + 1
            end = begin
    return 0


_AT_ONCE: Final = 50_000


def read_production_logs(path: Path, size: int | None = None) -> pl.DataFrame:
    """Read a file of logged answers, JSON Lines or parquet, in the order of the file.

    A parquet file has columns of the same names; its times have a zone, and its references are JSON.
    """
    what = f"production log {path}"
    documents = (
        _parquet(path, what)
        if path.suffix == ".parquet"
        else stream_json_lines(path, LoggedAnswer, "production log", size)
    )
    parts = []
    while batch := list(islice(documents, _AT_ONCE)):
        parts.append(document_table(batch, LoggedAnswer))
    if not parts:
        raise InputError(f"{what} is empty; it needs one answer a row")
    table = pl.concat(parts)
    require_one_prompt_each(table, what)
    return table


def _parquet(path: Path, what: str) -> Iterator[LoggedAnswer]:
    try:
        # Python's times have no later year.
        is_known = pl.col("time").dt.year() <= MAXYEAR
        found = pl.read_parquet(path, glob=False).with_columns(pl.when(is_known).then("time").alias("time"))
    except (OSError, PolarsError):
        # The reader's own message may repeat the file's content.
        raise InputError(f"{what} cannot be read as parquet with times in a column time; write it again") from None
    rows = found.select(name for name in LoggedAnswer.model_fields if name in found.columns)
    for number, row in enumerate(rows.iter_rows(named=True), start=1):
        try:
            reference = row.get("reference") and orjson.loads(row["reference"])
            yield LoggedAnswer.model_validate({**row, "reference": reference}, strict=True)
        except ValidationError as error:
            raise InputError(f"{what}: row {number}: {first_fault(error)}") from None
        except (TypeError, ValueError):
            raise InputError(f"{what}: row {number}: reference is no JSON; write a JSON object, or null") from None


_KNOWN: Final[Mapping[str, Any]] = {"reference": pl.String, "rating": pl.Int64}
_COLUMNS: Final[Mapping[str, Any]] = {
    "request_id": pl.String,
    "task": pl.String,
    "time": pl.Datetime("us", "UTC"),
    **_KNOWN,
}


@dataclass(frozen=True)
class FeedbackCounts:
    """Numbers of what was read."""

    lines: int = 0
    references: int = 0
    ratings: int = 0
    unknown: int = 0
    """Requests that the logs do not have."""


def read_feedback(files: Sequence[LogFile], latest: datetime | None = None) -> pl.DataFrame:
    """Read files of feedback, in their order, with times in UTC and references as JSON."""
    rows = []
    for file in files:
        said = tuple(stream_json_lines(file.path, Feedback, "feedback", file.size))
        for number, each in enumerate(said, start=1):
            if latest is not None and each.time > latest:
                raise InputError(
                    f"feedback {file.path}: line {number} is of {each.time:%Y-%m-%d %H:%M} UTC, which "
                    "is yet to come; correct the clock of the machine that wrote it, or this one's, and the line"
                )
            # Written as the logs' references are, so that equal ones are scored once.
            reference = None if each.reference is None else json.dumps(each.reference, sort_keys=True)
            rows.append((each.request_id, each.task, each.time, reference, each.rating))
    return pl.DataFrame(rows, schema=dict(_COLUMNS), orient="row")


def with_feedback(
    answers: pl.DataFrame, feedback: pl.DataFrame, *, keep_references: bool = False
) -> tuple[pl.DataFrame, FeedbackCounts]:
    """Return answers with the references and ratings of feedback in the place of their own."""
    if not feedback.height:
        return answers, FeedbackCounts()
    on = ["request_id", "task"]
    ordered = feedback.sort("time", maintain_order=True)
    newest = ordered.group_by(on, maintain_order=True).agg(pl.col(*_KNOWN).drop_nulls().last())
    said = answers.select(on).join(newest, on=on, how="left", maintain_order="left")
    if keep_references:
        said = said.with_columns(pl.when(answers["reference"].is_null()).then("reference").alias("reference"))
    joined = answers.with_columns(
        pl.when(said[name].is_not_null()).then(said[name]).otherwise(pl.col(name)).alias(name) for name in _KNOWN
    )
    counts = FeedbackCounts(
        lines=feedback.height,
        references=said["reference"].count(),
        ratings=said["rating"].count(),
        unknown=newest.join(answers.select(on), on=on, how="anti").height,
    )
    return joined, counts
