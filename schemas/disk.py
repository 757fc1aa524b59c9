"""Atomic and durable writes: a file is whole or absent, and survives a crash of the machine."""

import os
from pathlib import Path


def synchronize(path: Path) -> None:
    """Wait until a file's bytes, or a folder's names, are on the disk.

    Raises:
        OSError: The path cannot be read, or the disk is full.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, text: str) -> None:
    """Write a text file by renaming a draft: a reader finds it whole, whenever this process is killed.

    Where the disk is full, no draft is left.

    Raises:
        OSError: It cannot be written.
    """
    draft = path.with_suffix(".draft")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
