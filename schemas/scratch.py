"""Folders of passing files, such as sockets and downloads: what a killed process left is removed by the next one."""

import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PREFIX: Final = "tucano-"
_NAME: Final = re.compile(rf"{PREFIX}\w{{8}}", re.ASCII)
_CONTENT: Final = "content"
"""Its only entry, made once the folder is locked: so a folder without it may be of a process that is just beginning."""
_SECONDS_TO_BEGIN: Final = 3600
"""Time after which a folder without it is of no such process."""


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Provide an empty folder, which only this user can read and which is removed with the block.

    It is made in `parent` or the system's temporary folder, where those of killed processes are removed.
    """
    parent = parent or Path(tempfile.gettempdir())
    _remove_abandoned(parent)
    home = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    # The system releases it with the process, however that ends.
    lock = os.open(home, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (home / _CONTENT).mkdir()
        yield home / _CONTENT
    finally:
        shutil.rmtree(home)
        os.close(lock)


def _remove_abandoned(parent: Path) -> None:
    for home in parent.glob(f"{PREFIX}*"):
        if _NAME.fullmatch(home.name):
            # Another user's, no folder, of a running process, or gone meanwhile.
            with suppress(OSError):
                _remove_unlocked(home)


def _remove_unlocked(home: Path) -> None:
    lock = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status, entries = os.fstat(lock), [*home.iterdir()]
        is_left = entries == [home / _CONTENT] or (not entries and time.time() - status.st_mtime > _SECONDS_TO_BEGIN)
        if status.st_uid == os.geteuid() and is_left:
            shutil.rmtree(home)
    finally:
        os.close(lock)
