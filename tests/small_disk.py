"""A real disk of a given size, to fill."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def mounted_disk(folder: Path, size: int) -> Iterator[Path]:
    """Mount a disk of `size` bytes in the folder; the test is skipped where none may be mounted."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("no disk may be mounted here; a full one is also tested where writing is made to fail")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path) -> None:
    """Take what is free of a disk."""
    free = shutil.disk_usage(disk).free
    if free:
        # Others write meanwhile, and may take the last bytes first.
        with (disk / f"ballast-{free}").open("ab") as file, suppress(OSError):
            os.posix_fallocate(file.fileno(), file.tell(), free)
