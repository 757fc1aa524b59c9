"""Digest of a file."""

import hashlib
from pathlib import Path


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's content, in hexadecimal; the file may be larger than memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
