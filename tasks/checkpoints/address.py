"""Mirror address: a folder, or `gs://bucket/prefix`; and the proof that this machine may use it."""

import os
import uuid
from pathlib import Path
from typing import Final

from schemas.disk import scratch_folder
from schemas.errors import InputError
from tasks.checkpoints import lease, segments
from tasks.checkpoints.catalog import MANIFESTS
from tasks.checkpoints.folder_store import FolderStore
from tasks.checkpoints.mirror import Mirror
from tasks.checkpoints.object_store import ObjectStore

BUCKET_SCHEME: Final = "gs://"
_PARTS_OF_A_TRAINING: Final = (MANIFESTS, segments.FOLDER, lease.FOLDER)
_PROOFS: Final = "doctor/"
"""Key prefix of the object that proves; no training has this name."""
_SECONDS_TO_PROVE: Final = 5.0
"""Short, since a user is waiting; a longer outage is reported."""


def open_store(address: str, *, seconds_to_retry: float = 120) -> tuple[ObjectStore, str]:
    """Open the store of a mirror, and return the prefix of its keys too: empty, or ending in a slash."""
    if not address.startswith(BUCKET_SCHEME):
        if "://" in address:
            raise InputError(f"the mirror {address!r} is neither a folder nor gs://bucket/prefix; write one of them")
        return FolderStore(Path(address)), ""
    bucket, _, prefix = address.removeprefix(BUCKET_SCHEME).partition("/")
    if not bucket:
        raise InputError(f"the mirror {address!r} names no bucket; write gs://bucket/prefix")

    from tasks.checkpoints.gcs_store import GcsStore

    prefix = prefix.strip("/")
    return GcsStore(bucket, seconds_to_retry=seconds_to_retry), f"{prefix}/" if prefix else ""


def require_folder(address: str) -> None:
    """Refuse a folder that is not there, as one on a disk that is not mounted, or relative to another folder."""
    if "://" not in address and not Path(address).is_dir():
        raise InputError(
            f"there is no folder {Path(address).absolute()}; give one that is there, or gs://bucket/prefix"
        )


def open_mirror(address: str, training: str) -> Mirror:
    """Open the mirror of one training."""
    store, prefix = open_store(address)
    return Mirror(store, prefix, training)


def trainings(address: str) -> list[str]:
    """Return the keys of all trainings with objects in a mirror, sorted."""
    store, prefix = open_store(address)
    keys = (stored.key.removeprefix(prefix).split("/") for stored in store.list(prefix))
    return sorted({parts[0] for parts in keys if len(parts) > 2 and f"{parts[1]}/" in _PARTS_OF_A_TRAINING})


def prove_usable(address: str) -> None:
    """Refuse a mirror, or another shared store, that lacks what machines need of it; nothing is left there."""
    if "://" in address:
        prove_rights(*open_store(address, seconds_to_retry=_SECONDS_TO_PROVE))
        return
    parent = nearest_folder(Path(address))
    try:
        with scratch_folder(parent) as folder:
            prove_rights(*open_store(str(folder)))
    except OSError as error:
        raise InputError(
            f"{parent} cannot be written ({error.strerror}); free space or permissions there, or name another folder"
        ) from None


def prove_rights(store: ObjectStore, prefix: str) -> None:
    """Create an object, create it again, which must fail, read it, list it and delete it."""
    key = f"{prefix}{_PROOFS}{uuid.uuid4().hex}"
    content = key.encode()
    # Where an answer was lost, the retried request finds its own first attempt.
    store.put_new(key, content)
    try:
        if store.put_new(key, content) is not None:
            raise InputError(
                f"{key} could be created twice: the place does not see to it that only the first of two writers "
                "creates an object, so two machines could train at once; use a bucket of Cloud Storage or a local disk"
            )
        if store.read(key) != content or not store.list(key):
            raise InputError(f"{key} is not read or listed as it was written; use another place")
    finally:
        for stored in store.list(key):
            store.delete(stored)
    if store.list(key):
        raise InputError(f"{key} was not deleted, though nobody else knows of it; delete it by hand")


def nearest_folder(path: Path) -> Path:
    """Return the folder, or its nearest existing ancestor."""
    path = path.absolute()
    # Unlike `Path.exists`, this treats inaccessible folders as missing.
    return next(folder for folder in (path, *path.parents) if os.path.exists(folder))  # noqa: PTH110
