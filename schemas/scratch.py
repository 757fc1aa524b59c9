"""Folders of passing files, such as sockets and downloads: what a killed process left is removed by later ones."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PREFIX: Final = "tucano-"
SECONDS_TO_BEGIN: Final = 3600
"""Age from which an unlocked folder is a killed process's, and none's that is just beginning."""


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Provide an empty folder, which only this user can read and which is removed with the block.

    It is made in `parent` or the system's temporary folder, where those of killed processes are removed.
    """
    parent = parent or Path(tempfile.gettempdir())
    for home in parent.glob(f"{PREFIX}????????"):
        # Another user's, no folder, of a running process, or gone meanwhile.
        with suppress(OSError):
            _remove_abandoned(home)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent) as name:
        # The system releases it with the process, however that ends.
        lock = os.open(name, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(lock)


def _remove_abandoned(home: Path) -> None:
    lock = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - os.fstat(lock).st_mtime > SECONDS_TO_BEGIN:
            shutil.rmtree(home)
    finally:
        os.close(lock)
