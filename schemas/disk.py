"""What is written is whole, and survives a crash of the machine once the disk has it."""

import os
from pathlib import Path


def synchronize(path: Path) -> None:
    """Wait until the disk has a file's bytes, or a folder's names.

    Raises:
        OSError: The path cannot be read, or the disk is full.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, text: str) -> None:
    """Write a text file by renaming a draft: whoever reads it finds it whole, whenever this process is killed.

    Raises:
        OSError: It cannot be written.
    """
    draft = path.with_suffix(".draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
