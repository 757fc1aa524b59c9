"""Atomic and durable writes: a file is whole or absent, survives a crash, and has one writer at a time."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from schemas.sqlite_file import SECONDS_TO_WAIT, in_use


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold a file of people's during the block, against other commands that change it."""
    lock = FileLock(file.with_name(f".{file.name}.lock"), timeout=SECONDS_TO_WAIT)
    try:
        lock.acquire()
    except Timeout:
        raise in_use(str(file)) from None
    try:
        yield
    finally:
        lock.release()


def synchronize(path: Path) -> None:
    """Wait until a file's bytes, or a folder's names, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_whole(path: Path, content: bytes) -> None:
    """Write a file of people's in place of another: it is the one or the other, whenever this process is killed.

    Its permissions stay, and a symbolic link remains one: both may share the file with others.
    """
    path = path.resolve()
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    _put(content, path.with_name(f".{path.name}.{os.getpid()}.draft"), path, mode)
    synchronize(path.parent)


def write_whole(path: Path, text: str, mode: int | None = None) -> None:
    """Write a text file by renaming a draft: a reader finds it whole, whenever this process or the machine ends.

    Where the disk is full, no draft is left.
    """
    _put(text.encode(), path.with_suffix(".draft"), path, mode)


def _put(content: bytes, draft: Path, path: Path, mode: int | None = None) -> None:
    """Write a draft and rename it, with these permissions if any; a failure leaves none."""
    try:
        # Nobody reads the draft who may not read the file.
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode or 0o666), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            draft.chmod(mode)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
