"""MLflow's files in the folder of its own database, wherever that was moved or copied to.

MLflow keeps the absolute address of the files of every experiment, run, model and trace. So a folder that was moved
would be written at its old place, and a copy into its original. `follow` corrects the addresses when a store is opened,
and an experiment of another place is refused.
"""

import sqlite3
import sys
from itertools import product
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
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'experiments'").fetchone():
        return
    known = [location for (location,) in database.execute("SELECT artifact_location FROM experiments")]
    old_folders = sorted({old for location in known if (old := _old_folder(location, folder)) is not None})
    for old, (table, column) in product(old_folders, _ADDRESSES):
        for before, after in ((old.as_uri(), folder.as_uri()), (str(old), str(folder))):
            database.execute(
                f"UPDATE {table} SET {column} = ? || substr({column}, ?) WHERE instr({column} || '/', ?) = 1",  # noqa: S608 - our own names
                (after, len(before) + 1, f"{before}/"),
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


def _old_folder(address: str, folder: Path) -> Path | None:
    """Return the folder of the runs' files that an address is in; None if it is this one, or none of ours."""
    if not _is_local(address):
        return None
    path = _path(address)
    if path.is_relative_to(folder):
        return None
    return next((each for each in (path, *path.parents) if each.parts[-2:] == folder.parts[-2:]), None)


def _is_local(address: str) -> bool:
    return urlsplit(address).scheme in {"", "file"}


def _path(address: str) -> Path:
    return Path(url2pathname(urlsplit(address).path) if address.startswith("file:") else address)
