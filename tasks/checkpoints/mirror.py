"""Checkpoints in an object store, each complete or absent.

    blobs/sha256/<digest>                   bytes of a file, stored once for all checkpoints
    manifests/<step>-<fencing>.json         list of the blobs of a step's checkpoint
    pins/<name>/<step>-<fencing>            checkpoint that is kept whatever its age

Blobs are written first and the manifest last, so a checkpoint exists as soon as it is complete.
"""

import logging
import shutil
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Final

from schemas.disk import scratch_folder
from schemas.errors import InputError
from tasks.checkpoints.catalog import BLOBS, MANIFESTS, PINS, Catalog, Entries, Pruned, name_of
from tasks.checkpoints.local import describe, put_in_place, read_sealed
from tasks.checkpoints.manifest import Manifest, ManifestFile, blobs_of, parse_name
from tasks.checkpoints.object_store import (
    GRACE_SECONDS,
    REQUESTS,
    ObjectMissing,
    ObjectStore,
    StoredObject,
    create,
    disk_refusal,
    store_time,
)
from tasks.checkpoints.segments import begun

ATTEMPTS: Final = 3

logger = logging.getLogger(__name__)


class CheckpointDamaged(InputError):
    """A file of a mirrored checkpoint is missing or altered."""


def warn(_: Manifest, sentence: str) -> None:
    """Log why a checkpoint is skipped."""
    logger.warning("%s; trying the checkpoint before", sentence)


class Mirror:
    """Checkpoints of one training in a store; usable by several processes at once.

    What reads checkpoints raises `ManifestTooNew` where a newer version of this program wrote one, and an `InputError`
    where one is of another training or base model, or the store cannot be used; then nothing is removed.
    """

    def __init__(self, store: ObjectStore, prefix: str, training: str) -> None:
        self.store = store
        self.training = training
        self.root = f"{prefix}{training}/"
        self._catalog = Catalog(store, self.root, training)
        self._damaged: set[str] = set()

    def publish(self, folder: Path, *, before_manifest: Callable[[], object] | None = None) -> Manifest:
        """Mirror a checkpoint; on return it can be restored. Only bytes that are missing or damaged there are sent."""
        manifest = read_sealed(folder)
        # Listed before the manifests are read, as a concurrent pruning relies on; see `Catalog.prune`.
        stored = {name_of(blob): blob for blob in self._catalog.listed(BLOBS)}
        entries = self._catalog.read()
        manifest = self._accept(folder, manifest, entries)
        # The largest first, so that no thread is left alone with it at the end.
        largest_first = sorted(manifest.files.items(), key=lambda named: named[1].size, reverse=True)
        files = {file.sha256: (folder / name, file) for name, file in largest_first}
        usable = self._usable(stored, entries, files)

        def put(digest: str) -> StoredObject:
            return usable.get(digest) or self._put(*files[digest], stored.get(digest))

        with ThreadPoolExecutor(REQUESTS) as pool:
            used = dict(zip(files, pool.map(put, files), strict=True))
            if before_manifest is not None:
                before_manifest()
            self._put_manifest(manifest)
            at_risk = self._at_risk(manifest, entries, used)
            list(pool.map(lambda digest: self._put(*files[digest], used[digest]), at_risk))
        return manifest

    def manifests(self) -> list[Manifest]:
        """Return the checkpoints on the training's current branch, newest first."""
        entries = self._catalog.read(again=True)
        for reason in entries.damaged.values():
            logger.warning("%s; passing it over", reason)
        return entries.live(begun(self.store, self.root))

    def inspect(self) -> tuple[list[Manifest], dict[tuple[int, int], str]]:
        """Return the same checkpoints as `manifests`, and a sentence for each damaged manifest, by step and fencing."""
        entries = self._catalog.read(again=True)
        segments = begun(self.store, self.root)
        return entries.live(segments), entries.live_damaged(segments)

    def restore_newest(
        self,
        folder_of: Callable[[Manifest], Path],
        *,
        base: str | None = None,
        newer_than: tuple[int, int] | None = None,
        passed_over: Callable[[Manifest, str], None] = warn,
    ) -> Manifest | None:
        """Restore the newest checkpoint whose every byte verifies into a new folder; None without one.

        Only one of this base policy, if any is given, and with a step and fencing number after `newer_than`. Each that
        does not verify is passed over with the reason.
        """
        for manifest in self.manifests():
            if newer_than is not None and manifest.place <= newer_than:
                break
            if base is not None:
                self._require_base(manifest, base)
            try:
                self.restore(manifest, folder_of(manifest))
            except CheckpointDamaged as error:
                passed_over(manifest, str(error))
            else:
                return manifest
        return None

    def verify(self, manifest: Manifest) -> None:
        """Read and hash every file of a checkpoint, through this machine's temporary folder.

        Where one is missing or altered (`CheckpointDamaged`), publishing a checkpoint that has it replaces it.
        """

        def is_whole(_: str, file: ManifestFile) -> bool:
            with scratch_folder() as folder:
                return self._download(file, folder / "blob")

        try:
            self._check_files(manifest, is_whole)
        except OSError as error:
            raise disk_refusal("the folder of temporary files cannot be written", error) from error

    def restore(self, manifest: Manifest, folder: Path) -> None:
        """Write a checkpoint to a folder, which appears only when it is complete; else `CheckpointDamaged`."""
        if folder.exists():
            raise InputError(f"{folder} is there already; restore the checkpoint to a new folder")
        draft = folder.with_name(f".draft-{folder.name}-{uuid.uuid4().hex}")

        def download(name: str, file: ManifestFile) -> bool:
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            return self._download(file, path)

        try:
            draft.mkdir(parents=True)
            self._check_files(manifest, download)
            put_in_place(draft, manifest, folder)
        except OSError as error:
            raise disk_refusal(f"the checkpoint cannot be restored to {folder}", error) from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def pin(self, name: str, manifest: Manifest) -> None:
        """Pin a checkpoint under a name such as `best`, whatever its age, in place of the previous one.

        An existing pin of a higher fencing number stays: a worker that has taken over set it.
        """
        pinned = f"{self.root}{PINS}{name}/{manifest.name}"
        self.store.put_new(pinned, b"")
        pins = {pin.key: pin for pin in self.store.list(f"{self.root}{PINS}{name}/")}
        if manifest.name not in {name_of(stored) for stored in self._catalog.listed(MANIFESTS)}:
            if pinned in pins:
                self.store.delete(pins[pinned])
            raise InputError(
                f"the mirror has no checkpoint {manifest.name} of the training {self.training!r} to pin as {name}; "
                "publish it first"
            )
        for key, pin in pins.items():
            if key != pinned and _fencing(pin) <= manifest.fencing:
                self.store.delete(pin)

    def pins(self) -> dict[str, str]:
        """Return the name of each pin's checkpoint, by the pin's name."""
        pins = sorted(self._catalog.listed(PINS), key=lambda pin: (_fencing(pin), pin.created_at, pin.generation))
        return {PurePosixPath(pin.key).parent.name: name_of(pin) for pin in pins}

    def prune(self, keep_last: int) -> Pruned:
        """Remove what `Catalog.prune` does."""
        return self._catalog.prune(keep_last)

    def clear(self) -> None:
        """Remove every checkpoint and pin for good, manifests first; leases and the record of the segments stay."""
        for folder in (MANIFESTS, PINS, BLOBS):
            self.store.erase(f"{self.root}{folder}")

    def read(self, manifest: Manifest, name: str) -> bytes:
        """Return a small file of a checkpoint; raises `CheckpointDamaged` where it is missing."""
        try:
            return self.store.read(self._blob_key(manifest.files[name].sha256))
        except (KeyError, ObjectMissing):
            raise CheckpointDamaged(f"the checkpoint {manifest.name} of {self.training} lacks {name}") from None

    def remove(self) -> int:
        """Remove everything of a training that nobody works on, for good; return the number of objects."""
        return self.store.erase(self.root)

    def _accept(self, folder: Path, manifest: Manifest, entries: Entries) -> Manifest:
        if manifest.training != self.training:
            raise InputError(
                f"{folder} is a checkpoint of the training {manifest.training!r} and not of {self.training!r}; publish "
                "it to the mirror of its own training"
            )
        for other in entries.manifests.values():
            self._require_base(other, manifest.base)
            if other.name == manifest.name:
                if other.files != manifest.files:
                    raise self._another(manifest)
                return other
        return manifest

    def _require_base(self, manifest: Manifest, base: str) -> None:
        if manifest.base != base:
            raise InputError(
                f"the checkpoints of {self.training} in the mirror are of another base model ({manifest.base[:12]}, "
                f"here {base[:12]}); use another mirror, or start again with --fresh"
            )

    def _usable(
        self, stored: Mapping[str, StoredObject], entries: Entries, files: Mapping[str, tuple[Path, ManifestFile]]
    ) -> dict[str, StoredObject]:
        """Return the stored blobs usable for files: intact, and not about to be pruned."""
        whole = {
            digest: stored[digest]
            for digest, (_, file) in files.items()
            if digest in stored and digest not in self._damaged and _fits(stored[digest], file)
        }
        named = blobs_of(entries.manifests.values())
        if whole.keys() <= named:
            return whole
        now = store_time(self.store, self.root)
        grace = timedelta(seconds=GRACE_SECONDS)
        return {digest: blob for digest, blob in whole.items() if digest in named or now - blob.created_at < grace / 2}

    def _put(self, path: Path, file: ManifestFile, present: StoredObject | None) -> StoredObject:
        """Store a blob in place of one that is gone, damaged or about to be pruned."""
        key = self._blob_key(file.sha256)
        for _ in range(ATTEMPTS):
            if present is not None:
                self.store.delete(present)
            try:
                put = self.store.put_new(key, path)
            except OSError as error:
                raise InputError(
                    f"{path} cannot be read ({error.strerror or error}); publish a whole folder"
                ) from error
            self._damaged.discard(file.sha256)
            if put is not None and not _fits(put, file):
                self.store.delete(put)
                raise InputError(f"{path} was changed after its checkpoint was written; publish another checkpoint")
            # If the name was taken, another process has just stored the same.
            present = put or next((blob for blob in self.store.list(key) if blob.key == key), None)
            if present is not None and _fits(present, file):
                return present
        raise InputError(f"another program keeps changing {key} in the mirror; stop it and publish again")

    def _put_manifest(self, manifest: Manifest) -> None:
        key = f"{self.root}{MANIFESTS}{manifest.name}.json"
        if create(self.store, key, manifest.to_bytes()):
            return
        entries = self._catalog.read(again=True)
        for stored, reason in entries.damaged.items():
            if stored.key == key:
                logger.warning("%s; replacing it", reason)
                self.store.delete(stored)
        if not create(self.store, key, manifest.to_bytes()):
            raise self._another(manifest)

    def _at_risk(self, manifest: Manifest, before: Entries, used: Mapping[str, StoredObject]) -> set[str]:
        """Return the blobs that a pruning may remove if it began before the manifest was there to keep them.

        A pruning that did not see the new manifest still spares blobs named by an earlier manifest that still exists,
        and blobs younger than the grace time when the new one was written.
        """
        after = {stored.key: stored for stored in self._catalog.listed(MANIFESTS)}
        written = after.get(f"{self.root}{MANIFESTS}{manifest.name}.json")
        if written is None:
            # Another process has removed the whole checkpoint already.
            return set()
        named = blobs_of(earlier for stored, earlier in before.manifests.items() if after.get(stored.key) == stored)
        oldest = written.created_at - timedelta(seconds=GRACE_SECONDS * 3 / 4)
        return {digest for digest, blob in used.items() if digest not in named and blob.created_at <= oldest}

    def _download(self, file: ManifestFile, path: Path) -> bool:
        self.store.download(self._blob_key(file.sha256), path)
        return describe(path) == file

    def _check_files(self, manifest: Manifest, is_whole: Callable[[str, ManifestFile], bool]) -> None:
        """Check all files of a checkpoint, several at a time, and collect those missing or altered."""

        def check(name: str) -> str | None:
            file = manifest.files[name]
            try:
                if is_whole(name, file):
                    return None
                problem = f"in the mirrored checkpoint {manifest.name}, {name} was altered"
            except ObjectMissing:
                problem = f"the mirrored checkpoint {manifest.name} lacks {name}"
            self._damaged.add(file.sha256)
            return problem

        with ThreadPoolExecutor(REQUESTS) as pool:
            problems = [problem for problem in pool.map(check, manifest.files) if problem is not None]
        if problems:
            raise CheckpointDamaged(problems[0])

    def _another(self, manifest: Manifest) -> InputError:
        return InputError(
            f"the mirror has another checkpoint {manifest.name} of the training {self.training!r} already; one process "
            "at a time may train it, so stop the other one or use another mirror"
        )

    def _blob_key(self, sha256: str) -> str:
        return f"{self.root}{BLOBS}{sha256}"


def _fencing(stored: StoredObject) -> int:
    name = parse_name(name_of(stored))
    return 0 if name is None else name[1]


def _fits(stored: StoredObject, file: ManifestFile) -> bool:
    return stored.size == file.size and stored.crc32c == file.crc32c
