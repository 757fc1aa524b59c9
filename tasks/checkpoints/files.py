"""Local files as the stores need them: their checksum, and one that is written whole or not there."""

import base64
import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from schemas.errors import InputError

_READ_SIZE: Final = 1 << 20
_MENDABLE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS})


def crc32c(content: Path | bytes) -> str:
    """Return the CRC-32C of a file or of bytes: base64 of its big-endian bytes, as Google writes it."""
    import google_crc32c

    checksum = 0
    if isinstance(content, bytes):
        checksum = google_crc32c.value(content)
    else:
        with content.open("rb") as source:
            while piece := source.read(_READ_SIZE):
                checksum = google_crc32c.extend(checksum, piece)
    return base64.b64encode(checksum.to_bytes(4, "big")).decode()


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing and remove it where that fails.

    Raises:
        InputError: The disk is full, or its folder cannot be written.
    """
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
        raise InputError(
            f"{path} cannot be written ({error.strerror}); free space or permissions there, and run the same command "
            "again"
        ) from error
