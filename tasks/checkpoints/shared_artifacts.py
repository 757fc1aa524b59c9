"""Artifacts on their way from one machine to another, in an object store that both reach.

    blobs/sha256/<digest>     the bytes of a file, once however many artifacts have them
    records/<sha256>.json     schemas.artifact.ArtifactRecord
    notes/<name>              what one machine has to say to the other

An artifact's record is written last, so an artifact is there as a whole or not at all.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Final

from pydantic import ValidationError

from schemas.artifact import ArtifactRecord
from schemas.digests import file_sha256
from schemas.errors import InputError
from tasks.checkpoints.address import open_store
from tasks.checkpoints.catalog import BLOBS
from tasks.checkpoints.files import crc32c
from tasks.checkpoints.object_store import REQUESTS, ObjectMissing, ObjectStore, StoredObject, create, store_time

_RECORDS: Final = "records/"
_NOTES: Final = "notes/"


class NotShared(InputError):
    """The place has no such artifact, or not all of it."""


@dataclass(frozen=True)
class Pruned:
    """What was removed."""

    artifacts: int
    """How many."""
    bytes: int
    """Their bytes, and those of notes."""


class SharedArtifacts:
    """A place where machines leave artifacts for one another."""

    def __init__(self, address: str) -> None:
        """Use a place.

        Args:
            address: A folder, or `gs://bucket/prefix`.

        Raises:
            InputError: The address is of another scheme, names no bucket, or no credentials are found for it.
        """
        self._address = address
        self._store, self._prefix = open_store(address)

    def push(self, record: ArtifactRecord, content: Path) -> None:
        """Leave an artifact; only bytes that the place does not have are sent.

        Args:
            record: Its record.
            content: Its folder.

        Raises:
            InputError: The place cannot be written.
        """
        stored = {blob.key: blob for blob in self._store.list(f"{self._prefix}{BLOBS}")}

        def put(file: tuple[str, str]) -> None:
            name, digest = file
            _put(self._store, f"{self._prefix}{BLOBS}{digest}", content / name, stored)

        # Two files of the same bytes are one blob.
        names = {digest: name for name, digest in record.files.items()}
        with ThreadPoolExecutor(REQUESTS) as pool:
            list(pool.map(put, [(name, digest) for digest, name in names.items()]))
        _replace(self._store, f"{self._prefix}{_RECORDS}{record.sha256}.json", record.model_dump_json().encode())

    def pull(self, sha256: str, draft: Path) -> ArtifactRecord:
        """Copy an artifact into an empty folder, and return its record.

        Raises:
            NotShared: It is not there, or a file of it is missing or altered.
            InputError: The place cannot be read, or the folder not written.
        """
        record = self._record(sha256)

        def get(file: tuple[str, str]) -> None:
            name, digest = file
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._store.download(f"{self._prefix}{BLOBS}{digest}", path)
            except ObjectMissing:
                raise NotShared(f"{self._address} lacks {name} of {record.kind} {sha256}") from None
            if file_sha256(path) != digest:
                raise NotShared(f"{name} of {record.kind} {sha256} in {self._address} was altered")

        with ThreadPoolExecutor(REQUESTS) as pool:
            list(pool.map(get, record.files.items()))
        return record

    def leave(self, name: str, note: bytes) -> None:
        """Leave a note, in place of one of that name."""
        _replace(self._store, f"{self._prefix}{_NOTES}{name}", note)

    def note(self, name: str) -> bytes | None:
        """Return a note; None where nobody left it."""
        try:
            return self._store.read(f"{self._prefix}{_NOTES}{name}")
        except ObjectMissing:
            return None

    def prune(self, older_than: timedelta) -> Pruned:
        """Remove what was left long ago: records, notes, and bytes that no artifact is made of any more.

        Args:
            older_than: By the place's own clock; far longer than a training takes.

        Raises:
            InputError: The place cannot be read or written.
        """
        oldest = store_time(self._store, self._prefix) - older_than
        records = self._store.list(f"{self._prefix}{_RECORDS}")
        old = [stored for stored in records if stored.created_at < oldest]
        named = {
            digest
            for stored in records
            if stored not in old
            for digest in self._record(PurePosixPath(stored.key).stem).files.values()
        }
        notes = [stored for stored in self._store.list(f"{self._prefix}{_NOTES}") if stored.created_at < oldest]
        blobs = [
            blob
            for blob in self._store.list(f"{self._prefix}{BLOBS}")
            if blob.created_at < oldest and PurePosixPath(blob.key).name not in named
        ]
        # The notes and records first: what is named is whole.
        removed = [stored for stored in (*notes, *old, *blobs) if self._store.delete(stored)]
        return Pruned(artifacts=len(old), bytes=sum(stored.size for stored in removed))

    def _record(self, sha256: str) -> ArtifactRecord:
        try:
            record = ArtifactRecord.model_validate_json(self._store.read(f"{self._prefix}{_RECORDS}{sha256}.json"))
        except ObjectMissing:
            raise NotShared(f"{self._address} has no artifact {sha256}") from None
        except ValidationError:
            raise NotShared(f"the record of {sha256} in {self._address} cannot be read") from None
        # What others may write must not lead out of the folder.
        names = [PurePosixPath(name) for name in record.files]
        if record.sha256 != sha256 or any(name.is_absolute() or ".." in name.parts for name in names):
            raise NotShared(f"the record of {sha256} in {self._address} was altered")
        return record


def _put(store: ObjectStore, key: str, path: Path, stored: Mapping[str, StoredObject]) -> None:
    present = stored.get(key)
    if present is not None:
        if (present.size, present.crc32c) == (path.stat().st_size, crc32c(path)):
            return
        store.delete(present)
    store.put_new(key, path)


def _replace(store: ObjectStore, key: str, content: bytes) -> None:
    """Write a small object in place of another of its name."""
    if create(store, key, content):
        return
    for stored in store.list(key):
        if stored.key == key:
            store.delete(stored)
    create(store, key, content)
