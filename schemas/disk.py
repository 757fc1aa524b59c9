"""What is written survives a crash of the machine once the disk has it."""

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
