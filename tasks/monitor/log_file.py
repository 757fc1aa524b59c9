"""Log file, which may still be written: its bytes up to the end of the last whole line."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl
from polars.exceptions import PolarsError

from schemas.errors import InputError

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
        """Return the sha256 of the counted bytes.

        Raises:
            InputError: The file cannot be read.
        """
        digest, left = hashlib.sha256(), self.size
        try:
            with self.path.open("rb") as file:
                while left and (block := file.read(min(left, _BLOCK))):
                    digest.update(block)
                    left -= len(block)
        except OSError as error:
            raise InputError(f"the log {self.path} cannot be read: {error.strerror}") from None
        return digest.hexdigest()


def find_log_file(path: Path) -> LogFile:
    """Return a file of a folder of logs, up to its last whole line.

    Raises:
        InputError: It cannot be read.
    """
    size = path.stat().st_size
    if path.suffix == ".parquet":
        return LogFile(path, 0 if size and _has_no_row(path) else size)
    try:
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
