"""Local files for the stores: checksums, and writes that leave a complete file or none."""

import base64
import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from schemas.errors import InputError

CHUNK: Final = 1 << 20
"""Bytes read at a time."""
_MENDABLE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS})


def encoded(crc32c: int) -> str:
    """Return a CRC-32C in Google's notation: base64 of its big-endian bytes."""
    return base64.b64encode(crc32c.to_bytes(4, "big")).decode()


def crc32c(path: Path) -> str:
    """Return the CRC-32C of a file, in Google's notation."""
    import google_crc32c

    checksum = 0
    with path.open("rb") as source:
        while piece := source.read(CHUNK):
            checksum = google_crc32c.extend(checksum, piece)
    return encoded(checksum)


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing, and remove it on failure."""
    try:
        with path.open("wb") as target:
            try:
                yield target
                target.flush()
            except BaseException:
                path.unlink(missing_ok=True)
                raise
    except OSError as error:
        if error.errno not in _MENDABLE:
            raise
        raise disk_refusal(f"{path} cannot be written", error) from error


def disk_refusal(what: str, reason: OSError | str) -> InputError:
    """Return the one-sentence error for a local disk that refuses an operation."""
    text = reason if isinstance(reason, str) else reason.strerror or str(reason)
    return InputError(f"{what} ({text}); free space or permissions there, and run the same command again")
