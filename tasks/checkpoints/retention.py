"""Retention of a mirror, safe beside concurrent publishing: manifests are removed first, then unreferenced bytes."""

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta

from tasks.checkpoints.catalog import BLOBS, Catalog, Entries, name_of
from tasks.checkpoints.manifest import blobs_of, is_live, parse_name
from tasks.checkpoints.object_store import CLOCK, REQUESTS, ObjectStore, StoredObject, store_time
from tasks.checkpoints.segments import begun

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pruned:
    """Removed objects of a mirror."""

    manifests: int
    """Checkpoints."""
    blobs: int
    """Files that no checkpoint references any more."""
    bytes: int
    """Size of these files."""


def prune(store: ObjectStore, root: str, catalog: Catalog, keep_last: int, grace_seconds: float) -> Pruned:
    """Remove everything neither pinned nor among the newest, as documented in `Mirror.prune`."""
    if keep_last < 1:
        raise ValueError(f"keep_last is {keep_last}; a mirror keeps at least its newest checkpoint")
    # Concurrent publishers rely on this order. Bytes stored after this listing are of another generation and stay.
    # Listed bytes that are used again are referenced by a manifest that the second reading finds; otherwise their
    # publisher finds that the manifest which referenced them is gone, and stores them again: see `Mirror.publish`.
    now, grace = store_time(store, root), timedelta(seconds=grace_seconds)
    blobs = store.list(f"{root}{BLOBS}")
    manifests = _delete(store, _past(catalog.read(), begun(store, root), catalog.pins(), keep_last))
    _delete(store, [clock for clock in store.list(f"{root}{CLOCK}") if now - clock.created_at >= grace])
    remaining = catalog.read()
    if remaining.damaged:
        logger.warning("kept all bytes of the mirror: %s", "; ".join(remaining.damaged.values()))
        return Pruned(len(manifests), 0, 0)
    named = blobs_of(remaining.manifests.values())
    gone = _delete(store, [blob for blob in blobs if name_of(blob) not in named and now - blob.created_at >= grace])
    return Pruned(len(manifests), len(gone), sum(blob.size for blob in gone))


def clear(store: ObjectStore, root: str, catalog: Catalog) -> None:
    """Remove every checkpoint and pin of a training: the manifests first, so that none is ever incomplete."""
    for stored in (catalog.listed(), catalog.pins(), store.list(f"{root}{BLOBS}")):
        _delete(store, stored)


def _past(
    entries: Entries, segments: Mapping[int, int], pins: Sequence[StoredObject], keep_last: int
) -> list[StoredObject]:
    """Return the manifests to remove, including damaged ones that would be removed if they were intact."""
    newest = [manifest.name for manifest in entries.live(segments)[:keep_last]]
    kept = {*newest, *(name_of(pin) for pin in pins)}
    oldest = parse_name(newest[-1]) if len(newest) == keep_last else None

    def is_past(stored: StoredObject) -> bool:
        place = parse_name(name_of(stored))
        if place is None:
            return False
        return not is_live(*place, segments) or (oldest is not None and place < oldest)

    readable = [stored for stored in entries.manifests if name_of(stored) not in kept]
    return [*readable, *(stored for stored in entries.damaged if name_of(stored) not in kept and is_past(stored))]


def _delete(store: ObjectStore, objects: Sequence[StoredObject]) -> list[StoredObject]:
    """Delete objects, and return those that were still there as listed."""
    with ThreadPoolExecutor(REQUESTS) as pool:
        return [stored for stored, deleted in zip(objects, pool.map(store.delete, objects), strict=True) if deleted]
