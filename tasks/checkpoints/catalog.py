"""What a mirror says that it has: the manifests and the pins of one training."""

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
    """The manifests that were there when they were read."""

    manifests: Mapping[StoredObject, Manifest]
    """Those that can be read."""
    damaged: Mapping[StoredObject, str]
    """Why the others cannot."""

    def live(self, begun: Mapping[int, int]) -> list[Manifest]:
        """Return those on the branch that the training went on with, newest first.

        Args:
            begun: From which step each stretch went on, by its fencing number, as of after the manifests were read:
                so a stretch that published one of them is not missed.
        """
        live = (manifest for manifest in self.manifests.values() if manifest.is_live(begun))
        return sorted(live, key=lambda manifest: manifest.place, reverse=True)

    def live_damaged(self, begun: Mapping[int, int]) -> dict[tuple[int, int], str]:
        """Return why those on that branch cannot be read that are damaged, by step and fencing number."""
        named = ((parse_name(name_of(stored)), reason) for stored, reason in self.damaged.items())
        return {place: reason for place, reason in named if place is not None and is_live(*place, begun)}


class Catalog:
    """The manifests and pins of one training; a manifest that was read is not read again."""

    def __init__(self, store: ObjectStore, root: str, training: str) -> None:
        """Read the part of a store whose keys start with `root`."""
        self._store = store
        self._root = root
        self._training = training
        self._read: Mapping[StoredObject, Manifest] = {}

    def read(self, *, again: bool = False) -> Entries:
        """Read every manifest.

        Args:
            again: Whether to read also those that were read before: their bytes may have been damaged since.

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
        """Return the manifests as the store lists them."""
        return self._store.list(f"{self._root}{MANIFESTS}")

    def pins(self) -> list[StoredObject]:
        """Return the pins, whose keys end with their names and the names of what they keep."""
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
    """Return the last part of an object's key, without what follows its dot."""
    return PurePosixPath(stored.key).stem
