"""Mirror address: a folder, or `gs://bucket/prefix`."""

from pathlib import Path
from typing import Final

from schemas.errors import InputError
from tasks.checkpoints import lease, segments
from tasks.checkpoints.catalog import MANIFESTS
from tasks.checkpoints.folder_store import FolderStore
from tasks.checkpoints.mirror import Mirror
from tasks.checkpoints.object_store import ObjectStore

BUCKET_SCHEME: Final = "gs://"
_PARTS_OF_A_TRAINING: Final = (MANIFESTS, segments.FOLDER, lease.FOLDER)


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
