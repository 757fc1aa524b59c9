"""Artifact exchange between machines, through an object store that both reach.

    blobs/sha256/<digest>     bytes of a file, stored once for all artifacts
    records/<sha256>.json     schemas.artifact.ArtifactRecord
    notes/<name>              message from one machine to the other

An artifact's record is written last, so an artifact is complete or absent.
"""

from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Final

from pydantic import ValidationError

from schemas.artifact import ArtifactRecord
from schemas.disk import file_sha256
from schemas.errors import InputError
from tasks.checkpoints.address import open_store
from tasks.checkpoints.catalog import BLOBS
from tasks.checkpoints.object_store import REQUESTS, ObjectMissing, StoredObject, crc32c, store_time

_RECORDS: Final = "records/"
_NOTES: Final = "notes/"
KEPT_FOR: Final = timedelta(days=30)
"""Retention of an artifact: longer than any training that waits for its machine."""
RENEWED_AFTER: Final = KEPT_FOR / 2
"""Age from which a needed artifact is sent again, so that its recipient has time to fetch it."""


class NotShared(InputError):
    """Error for an artifact that is missing or incomplete in the store."""


@dataclass(frozen=True)
class PrunedArtifacts:
    """Removed objects."""

    artifacts: int
    """Number of artifacts."""
    bytes: int
    """Their size, with notes."""


class SharedArtifacts:
    """Store through which machines exchange artifacts."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._store, self._prefix = open_store(address)

    def push(self, record: ArtifactRecord, content: Path) -> None:
        """Upload an artifact; only bytes are sent that are missing, or old enough to be pruned."""
        oldest = store_time(self._store, self._prefix) - RENEWED_AFTER
        stored = {blob.key: blob for blob in self._store.list(f"{self._prefix}{BLOBS}") if blob.created_at > oldest}

        def put(file: tuple[str, str]) -> None:
            name, digest = file
            key = f"{self._prefix}{BLOBS}{digest}"
            there = stored.get(key)
            whole = there and (there.size, there.crc32c) == ((content / name).stat().st_size, crc32c(content / name))
            if not whole:
                self._replace(key, content / name)

        # Two files of the same bytes are one blob.
        names = {digest: name for name, digest in record.files.items()}
        with ThreadPoolExecutor(REQUESTS) as pool:
            list(pool.map(put, [(name, digest) for digest, name in names.items()]))
        self._renew(f"{self._prefix}{_RECORDS}{record.sha256}.json", record.model_dump_json().encode(), oldest)

    def pull(self, sha256: str, draft: Path) -> ArtifactRecord:
        """Copy an artifact into an empty folder, and return its record; `NotShared` where it is not there whole."""
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
        """Write a note, replacing any of that name."""
        oldest = store_time(self._store, self._prefix) - RENEWED_AFTER
        self._renew(f"{self._prefix}{_NOTES}{name}", note, oldest)

    def note(self, name: str) -> bytes | None:
        """Return a note; None if there is none."""
        try:
            return self._store.read(f"{self._prefix}{_NOTES}{name}")
        except ObjectMissing:
            return None

    def remove(self, sha256s: Collection[str], digests: Collection[str] = ()) -> int:
        """Remove artifacts for good, and the bytes that no other record names; return the number of removed records.

        `digests` are of further files of theirs, which a pruning may have left as earlier generations alone. Bytes go
        before the record that names them: killed between, the same call finds what is left.
        """
        records = self._store.list(f"{self._prefix}{_RECORDS}")
        gone = [stored for stored in records if PurePosixPath(stored.key).stem in sha256s]
        bytes_of = self._named_by(gone) | {f"{self._prefix}{BLOBS}{digest}" for digest in digests}
        for key in sorted(bytes_of - self._named_by(stored for stored in records if stored not in gone)):
            self._store.erase(key)
        return sum(self._store.erase(f"{self._prefix}{_RECORDS}{sha256}.json") for sha256 in sha256s)

    def prune(self) -> PrunedArtifacts:
        """Remove objects older than `KEPT_FOR`, by the store's clock.

        Bytes stay as long as a record references them. Concurrent uploads stay complete: an upload does not rely on
        bytes nearly that old.
        """
        oldest = store_time(self._store, self._prefix) - KEPT_FOR
        listed = {folder: self._store.list(f"{self._prefix}{folder}") for folder in (_NOTES, _RECORDS, BLOBS)}
        named = self._named_by(stored for stored in listed[_RECORDS] if stored.created_at >= oldest)
        old = {
            folder: [stored for stored in there if stored.created_at < oldest and stored.key not in named]
            for folder, there in listed.items()
        }
        # The notes and records first, so that every referenced artifact is complete.
        removed = [stored for folder in old.values() for stored in folder if self._store.delete(stored)]
        return PrunedArtifacts(artifacts=len(old[_RECORDS]), bytes=sum(stored.size for stored in removed))

    def _named_by(self, records: Iterable[StoredObject]) -> set[str]:
        named: set[str] = set()
        for stored in records:
            # A record removed or altered meanwhile keeps nothing.
            with suppress(NotShared):
                record = self._record(PurePosixPath(stored.key).stem)
                named |= {f"{self._prefix}{BLOBS}{digest}" for digest in record.files.values()}
        return named

    def _renew(self, key: str, content: bytes, oldest: datetime) -> None:
        """Write a small object in place of another of its name, unless it exists and is recent."""
        there = next((stored for stored in self._store.list(key) if stored.key == key), None)
        if there is not None and there.created_at > oldest:
            with suppress(ObjectMissing):
                if self._store.read(key) == content:
                    return
        self._replace(key, content)

    def _replace(self, key: str, content: Path | bytes) -> None:
        """Write an object in place of another of its name; of two concurrent writers, either may be the last."""
        for stored in self._store.list(key):
            if stored.key == key:
                self._store.delete(stored)
        self._store.put_new(key, content)

    def _record(self, sha256: str) -> ArtifactRecord:
        try:
            record = ArtifactRecord.model_validate_json(self._store.read(f"{self._prefix}{_RECORDS}{sha256}.json"))
        except ObjectMissing:
            raise NotShared(f"{self._address} has no artifact {sha256}") from None
        except ValidationError:
            raise NotShared(f"the record of {sha256} in {self._address} cannot be read") from None
        # Names that others may write must not lead out of the folder.
        names = [PurePosixPath(name) for name in record.files]
        if record.sha256 != sha256 or any(name.is_absolute() or ".." in name.parts for name in names):
            raise NotShared(f"the record of {sha256} in {self._address} was altered")
        return record
