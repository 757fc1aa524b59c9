"""A full disk is known by every face it has, told by the disk that is full, and taken for nothing else."""

import errno
import sqlite3

import pytest

from schemas.errors import is_of_full_disk


def _caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        sqlite3.OperationalError("database or disk is full"),
        RuntimeError("PytorchStreamWriter failed writing file: No space left on device"),
        _caused(ValueError("the server said 500"), sqlite3.OperationalError("database or disk is full")),
    ],
)
def test_a_full_disk_is_known_by_its_error_or_its_cause(error: Exception) -> None:
    assert is_of_full_disk(error)
