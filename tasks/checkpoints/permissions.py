"""Permission probe of a mirror, or of another shared object store, from this machine."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from schemas.errors import InputError
from schemas.scratch import scratch_folder
from tasks.checkpoints.address import BUCKET_SCHEME, open_store
from tasks.checkpoints.object_store import ObjectStore

Right = Literal["create", "precondition", "read", "list", "delete"]
RIGHTS: Final[tuple[Right, ...]] = ("create", "precondition", "read", "list", "delete")
FOLDER: Final = "doctor/"
"""Key prefix of the probe object; no training has this name."""
SECONDS_TO_RETRY: Final = 5.0
"""Short, since a user is waiting; a longer outage is reported."""
_CONTENT: Final = b"whether this machine may write here"
_OTHER: Final = b"whether another may write over it"


@dataclass(frozen=True)
class PermissionProbe:
    """Result of a probe with one small object."""

    refusals: dict[Right, str]
    """Missing permissions, each with a sentence; without `create` nothing else could be tried."""
    left: str | None = None
    """The key of the object if it could not be deleted."""


def probe_address(address: str) -> PermissionProbe:
    """PermissionProbe all permissions that a mirror needs, and leave nothing behind."""
    if address.startswith(BUCKET_SCHEME) or "://" in address:
        store, prefix = open_store(address, seconds_to_retry=SECONDS_TO_RETRY)
        return probe(store, prefix)
    parent = nearest_folder(Path(address))
    try:
        with scratch_folder(parent) as folder:
            return probe(*open_store(str(folder)))
    except OSError as error:
        raise InputError(
            f"{parent} cannot be written ({error.strerror}); free space or permissions there, or name another folder"
        ) from None


def probe(store: ObjectStore, prefix: str) -> PermissionProbe:
    """Create an object, create it again, which must fail, read it, list it and delete it."""
    key = f"{prefix}{FOLDER}{uuid.uuid4().hex}"
    refusals: dict[Right, str] = {}
    try:
        # Where an answer was lost, the retried request finds its own first attempt.
        stored = store.put_new(key, _CONTENT) or store.list(key)[0]
    except InputError as error:
        return PermissionProbe({"create": str(error)})
    current = stored
    with _noted(refusals, "precondition"):
        if store.put_new(key, _OTHER) is not None:
            raise InputError(
                f"{key} could be created twice: the place does not see to it that only the first of two writers "
                "creates an object, so two machines could train at once; use a bucket of Cloud Storage or a local disk"
            )
    with _noted(refusals, "read"):
        if store.read(key) not in {_CONTENT, _OTHER}:
            raise InputError(f"{key} is not read as it was written; use another place")
    with _noted(refusals, "list"):
        listed = store.list(key)
        if not listed:
            raise InputError(f"{key} was created and is not listed; use another place")
        current = listed[0]
    with _noted(refusals, "delete"):
        if not store.delete(current):
            raise InputError(f"{key} was not deleted, though nobody else knows of it; delete it by hand")
    return PermissionProbe(refusals, key if "delete" in refusals else None)


@contextmanager
def _noted(refusals: dict[Right, str], right: Right) -> Iterator[None]:
    """Continue after a refusal, so that all missing permissions are reported at once."""
    try:
        yield
    except InputError as error:
        refusals[right] = str(error)


def nearest_folder(path: Path) -> Path:
    """Return the folder, or its nearest existing ancestor."""
    path = path.absolute()
    # Unlike `Path.exists`, this treats inaccessible folders as missing.
    return next(folder for folder in (path, *path.parents) if os.path.exists(folder))  # noqa: PTH110
