"""Catalog of a mirror, the manifests and the pins of one training, and its retention beside concurrent publishing."""

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Final

from schemas.errors import InputError
from tasks.checkpoints.manifest import Manifest, ManifestTooNew, blobs_of, is_live, parse_name
from tasks.checkpoints.object_store import (
    CLOCK,
    GRACE_SECONDS,
    REQUESTS,
    ObjectMissing,
    ObjectStore,
    StoredObject,
    store_time,
)
from tasks.checkpoints.segments import begun

BLOBS: Final = "blobs/sha256/"
MANIFESTS: Final = "manifests/"
PINS: Final = "pins/"
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entries:
    """Manifests present at the time of reading."""

    manifests: Mapping[StoredObject, Manifest]
    """The readable ones."""
    damaged: Mapping[StoredObject, str]
    """Reason why each of the others cannot be read."""

    def live(self, segments: Mapping[int, int]) -> list[Manifest]:
        """Return those on the training's current branch, newest first."""
        newest_first = sorted(self.manifests.values(), key=lambda manifest: manifest.place, reverse=True)
        return [manifest for manifest in newest_first if manifest.is_live(segments)]

    def live_damaged(self, segments: Mapping[int, int]) -> dict[tuple[int, int], str]:
        """Return the errors of damaged manifests on that branch, by step and fencing number."""
        named = ((parse_name(name_of(stored)), reason) for stored, reason in self.damaged.items())
        return {place: reason for place, reason in named if place is not None and is_live(*place, segments)}


@dataclass(frozen=True)
class Pruned:
    """Removed objects of a mirror."""

    manifests: int
    """Checkpoints."""
    blobs: int
    """Files that no checkpoint references any more."""
    bytes: int
    """Size of these files."""


class Catalog:
    """Manifests and pins of one training; each manifest is read once."""

    def __init__(self, store: ObjectStore, root: str, training: str) -> None:
        self._store = store
        self._root = root
        self._training = training
        self._read: Mapping[StoredObject, Manifest] = {}

    def read(self, *, again: bool = False) -> Entries:
        """Read every manifest."""
        manifests: dict[StoredObject, Manifest] = {}
        damaged: dict[StoredObject, str] = {}
        for stored in self.listed(MANIFESTS):
            try:
                known = None if again else self._read.get(stored)
                manifests[stored] = known or self._parse(stored, self._store.read(stored.key))
            except ManifestTooNew as error:
                raise ManifestTooNew(f"{stored.key}: {error}") from None
            except ObjectMissing:
                # Pruned by another process since it was listed.
                continue
            except ValueError:
                damaged[stored] = f"the manifest {stored.key} was altered or is of an older version"
        self._read = manifests
        return Entries(manifests, damaged)

    def listed(self, folder: str) -> list[StoredObject]:
        """Return the `BLOBS`, `MANIFESTS` or `PINS` in the store's listing."""
        return self._store.list(f"{self._root}{folder}")

    def prune(self, keep_last: int) -> Pruned:
        """Remove the checkpoints that are neither pinned nor among the newest, and bytes that none has had for an hour.

        Checkpoints that the training discarded are removed too. If a kept manifest cannot be read, all bytes are kept,
        since it may reference any. Leftovers of clock requests are removed with the bytes.
        """
        if keep_last < 1:
            raise ValueError(f"keep_last is {keep_last}; a mirror keeps at least its newest checkpoint")
        # Concurrent publishers rely on this order. Bytes stored after this listing are of another generation and stay.
        # Listed bytes that are used again are referenced by a manifest that the second reading finds; otherwise their
        # publisher finds that the manifest which referenced them is gone, and stores them again: see `Mirror.publish`.
        store = self._store
        old = store_time(store, self._root) - timedelta(seconds=GRACE_SECONDS)
        blobs = self.listed(BLOBS)
        past = _past(self.read(), begun(store, self._root), self.listed(PINS), keep_last)
        manifests = delete_all(store, past)
        delete_all(store, [each for each in self.listed(CLOCK) if each.created_at <= old])
        remaining = self.read()
        if remaining.damaged:
            logger.warning("kept all bytes of the mirror: %s", "; ".join(remaining.damaged.values()))
            return Pruned(len(manifests), 0, 0)
        named = blobs_of(remaining.manifests.values())
        gone = delete_all(store, [each for each in blobs if name_of(each) not in named and each.created_at <= old])
        return Pruned(len(manifests), len(gone), sum(blob.size for blob in gone))

    def _parse(self, stored: StoredObject, content: bytes) -> Manifest:
        manifest = Manifest.from_bytes(content)
        if manifest.training != self._training:
            raise InputError(
                f"the manifest {stored.key} is of the training {manifest.training!r} and not of {self._training!r}; "
                "use the mirror of this training, or a new one"
            )
        if manifest.name != name_of(stored):
            raise ValueError(f"the manifest of {manifest.name} is under another name")
        return manifest


def name_of(stored: StoredObject) -> str:
    """Return the last part of an object's key, without its extension."""
    return PurePosixPath(stored.key).stem


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


def delete_all(store: ObjectStore, objects: Sequence[StoredObject]) -> list[StoredObject]:
    """Delete objects, several at a time; return those that were still there."""
    with ThreadPoolExecutor(REQUESTS) as pool:
        return [stored for stored, deleted in zip(objects, pool.map(store.delete, objects), strict=True) if deleted]
