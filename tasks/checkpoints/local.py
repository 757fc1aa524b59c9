"""Checkpoints on the local disk, each complete or absent.

A checkpoint is a folder `checkpoint-<step>-<fencing number>` with a manifest of all its other files. It is written
under a temporary name, synced and renamed, so that a folder of this name is complete.
"""

import errno
import hashlib
import logging
import os
import shutil
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from schemas.disk import synchronize
from schemas.errors import InputError, is_of_full_disk
from tasks.checkpoints.manifest import (
    MANIFEST_FILE,
    Manifest,
    ManifestFile,
    ManifestTooNew,
    checkpoint_name,
    parse_name,
)
from tasks.checkpoints.object_store import CHUNK, disk_refusal, encoded

CHECKPOINT: Final = "checkpoint-"
DRAFT: Final = ".draft-"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LocalCheckpoint:
    """Checkpoint on this disk."""

    folder: Path
    manifest: Manifest
    """Verified content of the folder."""


class LocalCheckpoints:
    """Checkpoints of one training in a local folder, written by one process at a time."""

    def __init__(self, root: Path, training: str, base: str) -> None:
        self._root = root
        self._training = training
        self._base = base

    def write(self, step: int, fencing: int, metrics: Mapping[str, float], fill: Callable[[Path], None]) -> Path:
        """Write a checkpoint, and return its folder, which survives a crash; a complete one is left as it is.

        `fill` writes its files into the given folder: at least one, and none named like the manifest.
        """
        name = checkpoint_name(step, fencing)
        folder = self._folder(name)
        if folder.exists() and self._read_or_warn(folder) is not None:
            return folder
        draft = self._root / f"{DRAFT}{name}-{uuid.uuid4().hex}"
        try:
            with _writing(self._root, f"the checkpoint of step {step}"):
                draft.mkdir(parents=True)
                fill(draft)
                paths = sorted(path for path in draft.rglob("*") if path.is_file())
                manifest = Manifest(
                    training=self._training,
                    base=self._base,
                    step=step,
                    fencing=fencing,
                    created_at=datetime.now(UTC),
                    metrics=dict(metrics),
                    files={path.relative_to(draft).as_posix(): describe(path) for path in paths},
                )
                if folder.exists():
                    shutil.rmtree(folder)
                put_in_place(draft, manifest, folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return folder

    def folder_of(self, manifest: Manifest) -> Path:
        """Return the folder of a checkpoint, existing or not."""
        return self._folder(manifest.name)

    def newest(self, begun: Mapping[int, int] | None = None) -> LocalCheckpoint | None:
        """Return the newest checkpoint, by step and fencing number, whose every file verifies; None without one.

        One that does not verify, or is of another training or base model, is skipped with a warning.
        """
        for folder in self._folders():
            manifest = self._read_or_warn(folder)
            if manifest is not None and manifest.is_live(begun or {}):
                return LocalCheckpoint(folder, manifest)
        return None

    def of_step(self, step: int) -> LocalCheckpoint | None:
        """Return the newest verified checkpoint of a step; None without one."""
        for folder in self._folders():
            place = parse_name(folder.name.removeprefix(CHECKPOINT))
            if place is not None and place[0] == step and (manifest := self._read_or_warn(folder)) is not None:
                return LocalCheckpoint(folder, manifest)
        return None

    def keep(self, last: int, but: Collection[Path] = ()) -> None:
        """Remove all but the newest `last` checkpoints of this training and `but`, and what a killed write left."""
        if last < 1:
            raise ValueError(f"last is {last}; at least the newest checkpoint is kept")
        # By segment first: those of a discarded segment must not outlive the present one's.
        ours = [folder for folder in sorted(self._folders(), key=_fencing, reverse=True) if self._is_ours(folder)]
        with _writing(self._root, "older checkpoints"):
            older = [folder for folder in ours[last:] if folder not in but]
            for folder in [*older, *self._root.glob(f"{DRAFT}*")]:
                # Renamed first: a partly removed folder must not have a checkpoint's name.
                removed = self._root / f"{DRAFT}{uuid.uuid4().hex}"
                folder.replace(removed)
                shutil.rmtree(removed)

    def _folder(self, name: str) -> Path:
        return self._root / f"{CHECKPOINT}{name}"

    def _folders(self) -> list[Path]:
        named = [(parse_name(path.name.removeprefix(CHECKPOINT)), path) for path in self._root.glob(f"{CHECKPOINT}*")]
        return [path for _, path in sorted(((name, path) for name, path in named if name), reverse=True)]

    def _is_ours(self, folder: Path) -> bool:
        try:
            return read_sealed(folder).training == self._training
        except InputError:
            return False

    def _read_or_warn(self, folder: Path) -> Manifest | None:
        """Return the manifest of a complete checkpoint of this training and base model; warn otherwise."""
        try:
            manifest = verify_sealed(folder)
        except ManifestTooNew:
            raise
        except InputError as error:
            logger.warning("%s; passing it over", error)
            return None
        if (manifest.training, manifest.base, self.folder_of(manifest)) == (self._training, self._base, folder):
            return manifest
        logger.warning(
            "the checkpoint %s is step %d of the training %r on the base model %s, and %r on %s is wanted; passing it "
            "over",
            folder,
            manifest.step,
            manifest.training,
            manifest.base[:12],
            self._training,
            self._base[:12],
        )
        return None


def _fencing(folder: Path) -> int:
    place = parse_name(folder.name.removeprefix(CHECKPOINT))
    return 0 if place is None else place[1]


def read_sealed(folder: Path) -> Manifest:
    """Return the manifest of a checkpoint's folder."""
    try:
        return Manifest.from_bytes((folder / MANIFEST_FILE).read_bytes())
    except ManifestTooNew as error:
        raise ManifestTooNew(f"{folder}: {error}") from None
    except OSError as error:
        raise InputError(
            f"{folder} is no checkpoint: its {MANIFEST_FILE} cannot be read ({error.strerror}); name the folder of "
            "another checkpoint"
        ) from None
    except ValueError:
        raise InputError(
            f"{folder} is no checkpoint: its {MANIFEST_FILE} was altered or is of an older version; name the folder of "
            "another checkpoint"
        ) from None


def verify_sealed(folder: Path) -> Manifest:
    """Hash every file of a checkpoint's folder, and return its manifest."""
    manifest = read_sealed(folder)
    for name, file in manifest.files.items():
        try:
            found = describe(folder / name)
        except OSError as error:
            raise InputError(
                f"in the checkpoint {folder}, {name} cannot be read ({error.strerror}); use another checkpoint"
            ) from None
        if found != file:
            raise InputError(f"in the checkpoint {folder}, {name} was altered; use another checkpoint")
    return manifest


def describe(path: Path) -> ManifestFile:
    """Return size and digests of a file, which may be larger than memory."""
    import google_crc32c

    sha256, crc32c, size = hashlib.sha256(), 0, 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            sha256.update(chunk)
            crc32c = google_crc32c.extend(crc32c, chunk)
            size += len(chunk)
    return ManifestFile(sha256=sha256.hexdigest(), size=size, crc32c=encoded(crc32c))


def put_in_place(draft: Path, manifest: Manifest, folder: Path) -> None:
    """Seal the files of a draft with their manifest and rename it, so that it survives a crash."""
    (draft / MANIFEST_FILE).write_bytes(manifest.to_bytes())
    for path in [*draft.rglob("*"), draft]:
        synchronize(path)
    draft.rename(folder)
    synchronize(folder.parent)


@contextmanager
def _writing(root: Path, what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # safetensors and torch wrap the system's error in one of their own, without an errno.
        if not isinstance(error, OSError) and not is_of_full_disk(error):
            raise
        reason = error if isinstance(error, OSError) else os.strerror(errno.ENOSPC)
        raise disk_refusal(f"{what} cannot be written to {root}", reason) from error
