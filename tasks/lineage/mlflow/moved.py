"""MLflow's files in the folder of its own database, wherever that was moved or copied to.

MLflow keeps the absolute address of the files of every experiment, run, model and trace. So a folder that was moved
would be written at its old place, and a copy into its original. `follow` corrects the addresses when a store is opened,
and an experiment of another place is refused.
"""

import sqlite3
import sys
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from schemas.errors import InputError

STATE_TAG: Final = "state"
"""Tag of a run: the state folder of who wrote it."""
_ADDRESSES: Final = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "source"),
    ("model_versions", "storage_location"),
    ("trace_tags", "value"),
)
"""Tables and columns of MLflow's database with addresses of files."""


def follow(database: sqlite3.Connection, folder: Path) -> None:
    """Correct the addresses of files that were moved or copied with the database, and say so on stderr.

    Only those that end like this folder are corrected; addresses of buckets and servers stay.
    """
    table, column = _ADDRESSES[0]
    if not _has(database, table, column):
        return
    known = [location for (location,) in database.execute(f"SELECT {column} FROM {table}")]  # noqa: S608 - our own names
    old_folders = sorted({old for location in known if (old := _old_folder(location, folder)) is not None})
    if not old_folders:
        return

    def corrected(address: str | None) -> str | None:
        old = _old_folder(address, folder)
        if address is None or old is None:
            return address
        place = folder / _path(address).relative_to(old)
        return place.as_uri() if address.startswith("file:") else str(place)

    database.create_function("corrected", 1, corrected, deterministic=True)
    for table, column in _ADDRESSES:
        if _has(database, table, column):
            database.execute(
                f"UPDATE {table} SET {column} = corrected({column}) WHERE corrected({column}) IS NOT {column}"  # noqa: S608 - our own names
            )
    for old in old_folders:
        states = (str(folder.parent.parent), STATE_TAG, str(old.parent.parent))
        database.execute("UPDATE tags SET value = ? WHERE key = ? AND value = ?", states)
    database.commit()
    for old in old_folders:
        sys.stderr.write(f"the state folder was moved or copied: MLflow's files of {old} are now those of {folder}\n")


def require_own(address: str, folder: Path) -> None:
    """Refuse an address of files elsewhere on this machine than in a folder, which is beside the database."""
    if _is_local(address) and not _path(address).resolve().is_relative_to(folder.resolve()):
        raise InputError(
            f"MLflow's files in {_path(address)} are not in {folder}, beside its database, and nothing is written or "
            "removed elsewhere; give the folder of the database the name that it had, or name a new file with "
            "state.mlflow"
        )


def _has(database: sqlite3.Connection, table: str, column: str) -> bool:
    return column in {name for (name,) in database.execute("SELECT name FROM pragma_table_info(?)", [table])}


def _old_folder(address: str | None, folder: Path) -> Path | None:
    """Return the folder of the runs' files that an address is in; None if it is this one, or none of ours."""
    if address is None or not _is_local(address):
        return None
    path = _path(address)
    if path.is_relative_to(folder):
        return None
    return next((each for each in (path, *path.parents) if each.parts[-2:] == folder.parts[-2:]), None)


def _is_local(address: str) -> bool:
    return urlsplit(address).scheme in {"", "file"}


def _path(address: str) -> Path:
    return Path(url2pathname(urlsplit(address).path) if address.startswith("file:") else address)
