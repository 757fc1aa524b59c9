"""Digests of files that a stage reads from outside the artifact store."""

from collections.abc import Iterable
from pathlib import Path

from schemas.digests import file_sha256
from schemas.errors import InputError


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
