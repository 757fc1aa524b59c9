"""Listing of a folder, to prove that nothing in it was written, made or removed."""

from pathlib import Path

from schemas.disk import file_sha256


def listing(folder: Path) -> dict[str, tuple[int, str]]:
    """Return each file's time of change in nanoseconds and its sha256, by its path, and the folders without either."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_mtime_ns, file_sha256(path)) if path.is_file() else (0, "")
        for path in folder.rglob("*")
    }
