"""A full disk is known by every face it has, told by the disk that is full, and taken for nothing else."""

import errno
import sqlite3
from pathlib import Path

import pytest

from schemas.full_disk import full_disk_error, is_of_full_disk
from tests.small_disk import fill, mounted_disk


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


def test_of_several_disks_the_full_one_is_named(tmp_path: Path) -> None:
    with mounted_disk(tmp_path, 1 << 20) as disk:
        with pytest.raises(OSError, match="No space left") as caught, (disk / "file").open("wb", buffering=0) as file:
            fill(disk)
            while True:
                file.write(bytes(4096))
        caught.value.filename = str(disk / "file")
        said = str(full_disk_error(tmp_path, caught.value))
        assert said.startswith(f"the disk of {disk} ran full (0 MB free now); free some space and run the same command")
        assert "\n" not in said
