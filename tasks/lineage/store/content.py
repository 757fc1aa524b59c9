"""Files of an artifact and of a stage's inputs: their names, digests and column types."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from schemas.digests import file_sha256
from schemas.errors import InputError

NO_FILE: Final = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
"""Errors that prove that a file is lost; any other says only that it could not be read now."""


def file_names(folder: Path) -> list[str]:
    """Return the relative path of everything in a folder except folders, sorted."""
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()
    )


def digest_files(folder: Path) -> dict[str, str]:
    """Return the sha256 of every file of a folder by its relative path."""
    names = file_names(folder)
    if not names:
        raise ValueError(f"the draft {folder} is empty; a stage that made nothing has no artifact")
    for name in names:
        if not _is_plain(folder / name):
            raise ValueError(f"{folder / name} is not a plain file; an artifact holds its own bytes")
    return {name: file_sha256(folder / name) for name in names}


def holds(path: Path, recorded: str) -> bool:
    """Return whether a plain file is there and has the recorded sha256; InputError where it cannot be read."""
    try:
        return _is_plain(path) and file_sha256(path) == recorded
    except NO_FILE:
        return False
    except OSError as error:
        raise unreadable(path, error) from None


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def unreadable(path: Path, error: OSError) -> InputError:
    """Return the error for a file that may be whole: to make it again would cost what it cost before."""
    return InputError(f"{path} cannot be read ({error.strerror}); correct its permissions, or see that its disk works")


def column_types(folder: Path, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the column types of each parquet file among a folder's files."""
    tables = [name for name in names if name.endswith(".parquet")]
    if not tables:
        return {}
    import polars as pl

    columns = {}
    for name in tables:
        # A file that is a table in name only has no columns.
        with suppress(pl.exceptions.ComputeError):
            columns[name] = {column: str(kind) for column, kind in pl.read_parquet_schema(folder / name).items()}
    return columns


def content_digest(files: Mapping[str, str]) -> str:
    """Return an artifact's identity: the sha256 of its files' sorted names and digests."""
    return hashlib.sha256(json.dumps(sorted(files.items())).encode()).hexdigest()


def file_digests(files: Iterable[Path]) -> dict[str, str]:
    """Return the sha256 of each file that a stage reads from outside the artifact store, by its name."""
    digests = {}
    for file in files:
        try:
            digests[file.name] = file_sha256(file)
        except OSError as error:
            raise InputError(
                f"{file} cannot be read ({error.strerror}); check that it is a file you may read"
            ) from None
    return digests
