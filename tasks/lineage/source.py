"""The version of a stage's code: the digest of the files that decide what it makes."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from schemas.digests import file_sha256
from schemas.errors import InputError

REPOSITORY: Final = Path(__file__).resolve().parents[2]


def source_digest(*sources: str) -> str:
    """Return the sha256 of the named sources; equal for the same files with the same bytes, in whatever order named.

    Args:
        sources: Packages (`tasks.curate`), modules (`tasks.policy.load`), or files and folders by their path from the
            repository's root (`data/audit`). In a folder every file counts, but for caches and hidden files.

    Raises:
        ValueError: A source does not exist or holds no file: a version that ignored it would never change with it.
    """
    digest = hashlib.sha256()
    for name, sha256 in source_files(*sources).items():
        digest.update(f"{sha256}  {name}\n".encode())
    return digest.hexdigest()


def source_files(*sources: str) -> dict[str, str]:
    """Return the sha256 of each file of the named sources by its path in the repository, sorted.

    Raises:
        ValueError: A source does not exist or holds no file.
    """
    files = {file for source in sources for file in _files(source)}
    by_name = {file.relative_to(REPOSITORY).as_posix(): file for file in files}
    return {name: file_sha256(by_name[name]) for name in sorted(by_name)}


def _files(source: str) -> list[Path]:
    path = _path(source)
    files = [path] if path.is_file() else list(_files_below(path))
    if not files:
        raise ValueError(f"source {source!r} is no file, and no folder with files in it, below {REPOSITORY}")
    return files


def _path(source: str) -> Path:
    if "/" in source:
        return REPOSITORY / source
    path = REPOSITORY.joinpath(*source.split("."))
    return path if path.is_dir() else path.with_suffix(".py")


def _files_below(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if path.is_file() and "__pycache__" not in parts and not any(part.startswith(".") for part in parts):
            yield path


def file_digests(files: Iterable[Path]) -> dict[str, str]:
    """Return the sha256 of each file that a stage reads from outside the artifact store, by its name.

    Raises:
        InputError: A file cannot be read.
    """
    digests = {}
    for file in files:
        try:
            digests[file.name] = file_sha256(file)
        except OSError as error:
            raise InputError(
                f"{file} cannot be read ({error.strerror}); check that it is a file you may read"
            ) from None
    return digests
