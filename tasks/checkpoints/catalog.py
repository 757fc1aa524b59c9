"""Catalog of a mirror: the manifests and the pins of one training."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from schemas.errors import InputError
from tasks.checkpoints.manifest import Manifest, ManifestTooNew, is_live, parse_name
from tasks.checkpoints.object_store import ObjectMissing, ObjectStore, StoredObject

BLOBS: Final = "blobs/sha256/"
MANIFESTS: Final = "manifests/"
PINS: Final = "pins/"


@dataclass(frozen=True)
class Entries:
    """Manifests present at the time of reading."""

    manifests: Mapping[StoredObject, Manifest]
    """The readable ones."""
    damaged: Mapping[StoredObject, str]
    """Reason why each of the others cannot be read."""

    def live(self, begun: Mapping[int, int]) -> list[Manifest]:
        """Return those on the training's current branch, newest first.

        Args:
            begun: The step from which each segment resumed, by its fencing number. Read it after the manifests, so that
                no segment that published one of them is missing.
        """
        live = (manifest for manifest in self.manifests.values() if manifest.is_live(begun))
        return sorted(live, key=lambda manifest: manifest.place, reverse=True)

    def live_damaged(self, begun: Mapping[int, int]) -> dict[tuple[int, int], str]:
        """Return the errors of damaged manifests on that branch, by step and fencing number."""
        named = ((parse_name(name_of(stored)), reason) for stored, reason in self.damaged.items())
        return {place: reason for place, reason in named if place is not None and is_live(*place, begun)}


class Catalog:
    """Manifests and pins of one training; each manifest is read once."""

    def __init__(self, store: ObjectStore, root: str, training: str) -> None:
        """Read the part of a store whose keys start with `root`."""
        self._store = store
        self._root = root
        self._training = training
        self._read: Mapping[StoredObject, Manifest] = {}

    def read(self, *, again: bool = False) -> Entries:
        """Read every manifest.

        Args:
            again: Read known ones again too: their bytes may have been damaged since.

        Raises:
            ManifestTooNew: A newer version of this program wrote one.
            InputError: One is of another training.
        """
        manifests: dict[StoredObject, Manifest] = {}
        damaged: dict[StoredObject, str] = {}
        for stored in self.listed():
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

    def listed(self) -> list[StoredObject]:
        """Return the manifests in the store's listing."""
        return self._store.list(f"{self._root}{MANIFESTS}")

    def pins(self) -> list[StoredObject]:
        """Return the pins, whose keys end in the pin's name and the checkpoint's name."""
        return self._store.list(f"{self._root}{PINS}")

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
