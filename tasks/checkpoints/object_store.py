"""What the mirror asks of a place that keeps bytes by name."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from schemas.errors import InputError

REQUESTS: Final = 8
"""Requests to a store at a time."""
GRACE_SECONDS: Final = 3600.0
"""For so long by the store's clock what nothing names is kept: a process that will name it may be under way."""
CLOCK: Final = "clock/"


@dataclass(frozen=True)
class StoredObject:
    """One object, as the store describes it."""

    key: str
    """Its name: like a relative path, `manifests/00000010-00000001.json`."""
    generation: int
    """What tells it from another object that had or will have the same name."""
    size: int
    """Its bytes."""
    crc32c: str
    """CRC-32C of what was put, base64 of its big-endian bytes, as Google writes it."""
    created_at: datetime
    """When it was created, in UTC, by the store's own clock."""


class ObjectMissing(InputError):
    """There is no object of that name."""


class ObjectStore(Protocol):
    """A folder or a bucket. An object is there as a whole or not at all, and is never changed, only deleted.

    Every method raises an `InputError` of one sentence where a user can mend what is wrong: no permission, no bucket,
    a full disk, a service that stays away however often it is asked. What a store reads is what it has: whether the
    bytes are still those that were put is for the reader to check, by a digest of his own.
    """

    def put_new(self, key: str, content: Path | bytes) -> StoredObject | None:
        """Create an object from a file or from bytes, unless its name is taken; then return None.

        Of several writers at once at most one creates it. When this returns, the object survives a crash. A request
        whose answer was lost is sent again and then finds its own first attempt, so None may mean that too: `create`
        tells.
        """

    def read(self, key: str) -> bytes:
        """Return an object's bytes.

        Raises:
            ObjectMissing: There is no such object.
        """

    def download(self, key: str, path: Path) -> None:
        """Write an object's bytes to a new file whose folder exists; no file is left where this fails.

        Raises:
            ObjectMissing: There is no such object.
        """

    def list(self, prefix: str) -> list[StoredObject]:
        """Return the objects whose keys start with the prefix, sorted by key."""

    def delete(self, stored: StoredObject) -> bool:
        """Delete this very object; return False where it is gone, or where another has its name now."""


def create(store: ObjectStore, key: str, content: bytes) -> bool:
    """Create an object; return True also where there is one of exactly this content already.

    A request that is sent again may find its own first attempt. Where several writers contest a name, their contents
    must differ, so that a writer knows its own.
    """
    if store.put_new(key, content) is not None:
        return True
    try:
        return store.read(key) == content
    except ObjectMissing:
        return False


def store_time(store: ObjectStore, prefix: str) -> datetime:
    """Return the present time by the store's clock, the only one that all machines share.

    Args:
        store: The store to ask.
        prefix: Start of the key of a short-lived object, whose time of creation is the answer. A process that dies
            leaves it; pruning a mirror removes it.
    """
    key = f"{prefix}{CLOCK}{uuid.uuid4().hex}"
    stored = store.put_new(key, b"") or store.list(key)[0]
    store.delete(stored)
    return stored.created_at
