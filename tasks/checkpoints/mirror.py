"""Checkpoints in an object store, each there as a whole or not at all.

    blobs/sha256/<digest>      the bytes of a file, once however many checkpoints have them
    manifests/<step>.json      which blobs make up the checkpoint of a step
    pins/<name>/<step>         a checkpoint that is kept whatever its age

Blobs are written first and the manifest last, so a checkpoint exists from the moment that it is complete.
"""

import hashlib
import logging
import shutil
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Final

from schemas.digests import file_sha256
from schemas.errors import InputError
from tasks.checkpoints.manifest import Manifest, ManifestFile
from tasks.checkpoints.object_store import ObjectMissing, ObjectStore

BLOBS: Final = "blobs/sha256/"
MANIFESTS: Final = "manifests/"
PINS: Final = "pins/"

logger = logging.getLogger(__name__)


class Mirror:
    """The checkpoints of one training."""

    def __init__(self, store: ObjectStore, prefix: str) -> None:
        """Use the part of a store that belongs to one training.

        Args:
            store: Where the bytes are kept.
            prefix: Key of the training, before all its names in the store; empty where it has the store for itself.
        """
        self._store = store
        self._prefix = prefix

    def publish(self, folder: Path, step: int, metrics: Mapping[str, float] | None = None) -> Manifest:
        """Mirror a checkpoint; when this returns it can be restored.

        Publishing the same checkpoint again changes nothing; a damaged one of the same step is replaced.

        Args:
            folder: The checkpoint, with at least one file.
            step: The step after which it was saved.
            metrics: What was measured at that step.

        Raises:
            InputError: The mirror has another, undamaged checkpoint of that step, or cannot be written.
        """
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        files = {path.relative_to(folder).as_posix(): _describe(path) for path in paths}
        manifest = Manifest(
            run=self._prefix, step=step, created_at=datetime.now(UTC), metrics=dict(metrics or {}), files=files
        )
        for name, file in files.items():
            self._put_blob(folder / name, file)
        if self._store.put_new(self._manifest_key(step), manifest.to_bytes()):
            return manifest
        return self._publish_again(manifest)

    def newest(self) -> Manifest | None:
        """Return the newest checkpoint whose every byte verifies; None where there is none.

        A checkpoint that does not verify is passed over, with a warning in the log that says why.
        """
        for step in reversed(self._steps()):
            try:
                manifest = self._read_manifest(step)
                self.verify(manifest)
            except InputError as error:
                logger.warning("%s; trying the checkpoint before", error)
            else:
                return manifest
        return None

    def verify(self, manifest: Manifest) -> None:
        """Read and hash every file of a checkpoint.

        Raises:
            InputError: A file is missing or altered.
        """
        for name, file in manifest.files.items():
            try:
                content = self._store.read(self._blob_key(file.sha256))
            except ObjectMissing:
                raise InputError(f"the mirrored checkpoint of step {manifest.step} lacks {name}") from None
            if hashlib.sha256(content).hexdigest() != file.sha256:
                raise InputError(f"in the mirrored checkpoint of step {manifest.step}, {name} was altered")

    def restore(self, manifest: Manifest, folder: Path) -> None:
        """Write a checkpoint to a folder, which appears only when it is complete.

        Raises:
            InputError: The folder exists or cannot be written, or a file is missing or altered.
        """
        if folder.exists():
            raise InputError(f"{folder} is there already; restore the checkpoint to a new folder")
        unfinished = folder.with_name(f".{folder.name}-{uuid.uuid4().hex}")
        try:
            for name, file in manifest.files.items():
                path = unfinished / name
                path.parent.mkdir(parents=True, exist_ok=True)
                self._store.download(self._blob_key(file.sha256), path)
                if _describe(path) != file:
                    raise InputError(f"in the mirrored checkpoint of step {manifest.step}, {name} was altered")
            unfinished.replace(folder)
        except OSError as error:
            raise InputError(
                f"the checkpoint cannot be restored to {folder} ({error.strerror}); free space or permissions there"
            ) from error
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def pin(self, name: str, step: int) -> None:
        """Keep the checkpoint of a step under a name such as `best`, whatever its age, instead of the one before.

        Raises:
            InputError: The mirror has no checkpoint of that step.
        """
        if step not in self._steps():
            raise InputError(f"the mirror has no checkpoint of step {step} to pin as {name}; publish it first")
        pinned = self._key(f"{PINS}{name}/{step:08d}")
        self._store.put_new(pinned, b"")
        for earlier in self._store.keys(self._key(f"{PINS}{name}/")):
            if earlier != pinned:
                self._store.delete(earlier)

    def clear(self) -> None:
        """Remove every checkpoint: the manifests first, so that none is ever half there."""
        for part in (MANIFESTS, PINS, BLOBS):
            for key in self._store.keys(self._key(part)):
                self._store.delete(key)

    def prune(self, keep_last: int) -> None:
        """Remove the checkpoints that are neither pinned nor among the newest, and the bytes that none is made of.

        Where a manifest cannot be read, all bytes are kept: some may be what it is made of.

        Args:
            keep_last: How many of the newest to keep; 1 or more.
        """
        if keep_last < 1:
            raise ValueError(f"keep_last is {keep_last}; a mirror keeps at least its newest checkpoint")
        readable, unreadable = self._read_manifests()
        pinned = {_step_of(key) for key in self._store.keys(self._key(PINS))}
        kept = pinned.union(sorted(readable)[-keep_last:])
        for step in readable.keys() - kept:
            self._store.delete(self._manifest_key(step))
        if unreadable:
            logger.warning("kept all bytes of the mirror: the manifests of steps %s cannot be read", unreadable)
            return
        referenced = {file.sha256 for step in readable.keys() & kept for file in readable[step].files.values()}
        for key in self._store.keys(self._key(BLOBS)):
            if PurePosixPath(key).name not in referenced:
                self._store.delete(key)

    def _put_blob(self, path: Path, file: ManifestFile) -> None:
        key = self._blob_key(file.sha256)
        if self._store.put_new(key, path) or hashlib.sha256(self._store.read(key)).hexdigest() == file.sha256:
            return
        self._store.delete(key)
        self._store.put_new(key, path)

    def _publish_again(self, manifest: Manifest) -> Manifest:
        try:
            earlier = self._read_manifest(manifest.step)
            self.verify(earlier)
        except InputError as error:
            logger.warning("%s; replacing it", error)
            self._store.delete(self._manifest_key(manifest.step))
            self._store.put_new(self._manifest_key(manifest.step), manifest.to_bytes())
            return manifest
        if earlier.files != manifest.files:
            raise InputError(
                f"the mirror has another checkpoint of step {manifest.step} already; one training at a time may write "
                "to it, so stop the other one or use another mirror"
            )
        return earlier

    def _read_manifests(self) -> tuple[dict[int, Manifest], list[int]]:
        readable: dict[int, Manifest] = {}
        unreadable: list[int] = []
        for step in self._steps():
            try:
                readable[step] = self._read_manifest(step)
            except InputError:
                unreadable.append(step)
        return readable, unreadable

    def _read_manifest(self, step: int) -> Manifest:
        key = self._manifest_key(step)
        try:
            manifest = Manifest.from_bytes(self._store.read(key))
        except ValueError:
            raise InputError(f"the manifest {key} was altered or is of another version") from None
        if (manifest.run, manifest.step) != (self._prefix, step):
            raise InputError(f"the manifest {key} is of run {manifest.run!r}, step {manifest.step}")
        return manifest

    def _steps(self) -> list[int]:
        return sorted(_step_of(key) for key in self._store.keys(self._key(MANIFESTS)))

    def _manifest_key(self, step: int) -> str:
        return self._key(f"{MANIFESTS}{step:08d}.json")

    def _blob_key(self, sha256: str) -> str:
        return self._key(f"{BLOBS}{sha256}")

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}" if self._prefix else name


def _step_of(key: str) -> int:
    return int(PurePosixPath(key).stem)


def _describe(path: Path) -> ManifestFile:
    return ManifestFile(sha256=file_sha256(path), size=path.stat().st_size)
