"""Object store protocol, and local files for the stores: checksums, and writes that leave a complete file or none."""

import base64
import errno
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from schemas.errors import InputError

REQUESTS: Final = 8
"""Concurrent requests to a store."""
GRACE_SECONDS: Final = 3600.0
"""Time by the store's clock for which unreferenced bytes are kept: a process may be about to reference them."""
CLOCK: Final = "clock/"
CHUNK: Final = 1 << 20
"""Bytes read at a time."""
_MENDABLE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS})


@dataclass(frozen=True)
class StoredObject:
    """Description of one object by the store."""

    key: str
    """Its name: like a relative path, `manifests/00000010-00000001.json`."""
    generation: int
    """Distinguishes it from other objects of the same name, past or future."""
    size: int
    """Size in bytes."""
    checksum: str | Path
    """Its CRC-32C as the store lists it, or the file that it is computed of."""
    created_at: datetime
    """Creation time, in UTC, by the store's own clock."""

    @property
    def crc32c(self) -> str:
        """CRC-32C of its content in Google's notation: base64 of the big-endian bytes; empty where its file is gone."""
        if isinstance(self.checksum, str):
            return self.checksum
        try:
            return crc32c(self.checksum)
        except FileNotFoundError:
            return ""


class ObjectMissing(InputError):
    """Error for a name without an object."""


class ObjectStore(Protocol):
    """A folder or a bucket. An object is complete or absent, and never changed, only deleted.

    Every method raises an `InputError` of one sentence for problems that a user can fix: no permission, no bucket, a
    full disk, a service that stays unavailable. A store returns its bytes as they are: the reader must verify them by a
    digest.
    """

    def put_new(self, key: str, content: Path | bytes) -> StoredObject | None:
        """Create an object from a file or from bytes; return None if its name is taken.

        Of several concurrent writers at most one succeeds. On return, the object survives a crash. A request whose
        answer was lost is sent again and may then find its own first attempt, so None may mean that too: `create`
        resolves it.
        """

    def read(self, key: str) -> bytes:
        """Return an object's bytes; `ObjectMissing` where there is none."""

    def download(self, key: str, path: Path) -> None:
        """Write an object's bytes to a new file in an existing folder; on failure, as `ObjectMissing`, none is left."""

    def list(self, prefix: str) -> list[StoredObject]:
        """Return the objects whose keys start with the prefix, sorted by key."""

    def delete(self, stored: StoredObject) -> bool:
        """Delete exactly this object; return False if it is gone, or if another has its name now."""

    def erase(self, prefix: str) -> int:
        """Delete the objects whose keys start with the prefix for good; return their number.

        A bucket with versions has earlier generations of deleted objects, which go too. Nobody may write there
        meanwhile.
        """


def create(store: ObjectStore, key: str, content: bytes) -> bool:
    """Create an object; return True also if one with exactly this content exists.

    A retried request may find its own first attempt. Writers that compete for a name must use different contents, so
    that a writer recognizes its own.
    """
    if store.put_new(key, content) is not None:
        return True
    try:
        return store.read(key) == content
    except ObjectMissing:
        return False


def store_time(store: ObjectStore, prefix: str) -> datetime:
    """Return the present time by the store's clock, the only one that all machines share."""
    key = f"{prefix}{CLOCK}{uuid.uuid4().hex}"
    stored = store.put_new(key, b"") or store.list(key)[0]
    store.delete(stored)
    return stored.created_at


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
