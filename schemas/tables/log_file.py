"""Files of a served model's logs, which may still be written: their bytes up to the end of the last whole line."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl
from polars.exceptions import PolarsError

from schemas.errors import InputError

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
    def has_rows(self) -> bool:
        """Return whether any file has a whole row."""
        return any(file.size for file in self.files)

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
    if found.has_rows:
        return
    count = found.empty + len(found.files)
    if not found.path.is_dir():
        raise InputError(f"the log {found.path} is empty; give another")
    if not count:
        raise InputError(f"the folder of logs {found.path} holds no {' and no '.join(KINDS)} file; give another")
    raise InputError(f"all {count} files of the folder of logs {found.path} are empty; give another")


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
        whole = _end_of_last_line(path, size)
    except OSError as error:
        raise InputError(f"the log {path} cannot be read: {error.strerror}") from None
    return LogFile(path, whole, half_written=whole < size)


def _has_no_row(path: Path) -> bool:
    try:
        return not pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
    except (OSError, PolarsError):
        # The reader reports its faults.
        return False


def _end_of_last_line(path: Path, size: int) -> int:
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
