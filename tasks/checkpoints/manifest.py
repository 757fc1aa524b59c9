"""The manifest of a checkpoint: of which training and step it is, and which bytes it is made of."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from schemas.errors import InputError

MANIFEST_FILE: Final = "manifest.json"
VERSION: Final = 2

# The same in every version, so that an intact manifest of a newer version is told from a damaged one.
_SEALED = re.compile(rb'\{"manifest":(\{.*\}),"sha256":"([0-9a-f]{64})"\}', re.DOTALL)
_NAME = re.compile(r"(\d{8,})-(\d{8,})")


class ManifestTooNew(InputError):
    """A newer version of this program wrote it."""


class ManifestFile(BaseModel):
    """One file of a checkpoint."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Digest of its bytes, by which the mirror keeps them."""
    size: int = Field(ge=0)
    """Its bytes."""
    crc32c: str = Field(pattern=r"^[A-Za-z0-9+/]{6}==$")
    """Base64 of the big-endian CRC-32C of its bytes, as object stores tell it."""


class Manifest(BaseModel):
    """One checkpoint."""

    # Infinity and not-a-number are no JSON numbers, and a metric may be either.
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")

    version: Literal[2] = VERSION
    """Version of this format."""
    training: str
    """The training that it is of."""
    base: str = Field(pattern=r"^[0-9a-f]{64}$")
    """The sha256 of the base policy that is trained."""
    step: int = Field(ge=0)
    """The step after which it was saved."""
    fencing: int = Field(ge=0)
    """Fencing number of the lease under which it was saved."""
    created_at: datetime
    """When it was saved, in UTC by the clock of the machine that saved it: to be shown, never to be compared."""
    metrics: dict[str, float]
    """What was measured at that step."""
    files: dict[str, ManifestFile] = Field(min_length=1)
    """Its files, by their path in the checkpoint's folder."""

    @field_validator("files")
    @classmethod
    def _stays_in_the_folder(cls, files: dict[str, ManifestFile]) -> dict[str, ManifestFile]:
        for name in files:
            path = PurePosixPath(name)
            if not path.parts or path.is_absolute() or ".." in path.parts or path.as_posix() != name:
                raise ValueError(f"{name!r} is not a path inside a checkpoint's folder")
            if name == MANIFEST_FILE:
                raise ValueError(f"{name} is the manifest's own name")
        return files

    @property
    def name(self) -> str:
        """By which the checkpoint is known among those of its training; sorts by step, then fencing number."""
        return checkpoint_name(self.step, self.fencing)

    @property
    def place(self) -> tuple[int, int]:
        """Step and fencing number, by which the checkpoints of a training are in order."""
        return self.step, self.fencing

    def is_live(self, begun: Mapping[int, int]) -> bool:
        """Tell whether no later stretch of the training began before this checkpoint; see `is_live`."""
        return is_live(*self.place, begun)

    def to_bytes(self) -> bytes:
        """Return the manifest as JSON, with its own digest."""
        body = self.model_dump_json().encode()
        return b'{"manifest":' + body + b',"sha256":"' + hashlib.sha256(body).hexdigest().encode() + b'"}'

    @classmethod
    def from_bytes(cls, content: bytes) -> "Manifest":
        """Read what `to_bytes` wrote.

        Raises:
            ManifestTooNew: It is whole, and of a newer version.
            ValueError: It is something else or of an older version, or one byte of it was altered.
        """
        sealed = _SEALED.fullmatch(content)
        if sealed is None or hashlib.sha256(sealed[1]).hexdigest() != sealed[2].decode():
            raise ValueError("the manifest was altered")
        version = json.loads(sealed[1]).get("version")
        if isinstance(version, int) and version > VERSION:
            raise ManifestTooNew(
                f"the checkpoint's manifest is of version {version}, written by a newer version of this program; "
                "update this installation"
            )
        return cls.model_validate_json(sealed[1])


def blobs_of(manifests: Iterable[Manifest]) -> set[str]:
    """Return the sha256 of every file that checkpoints are made of."""
    return {file.sha256 for manifest in manifests for file in manifest.files.values()}


def checkpoint_name(step: int, fencing: int) -> str:
    """Return the name of the checkpoint that was saved after a step under a fencing number."""
    return f"{step:08d}-{fencing:08d}"


def parse_name(name: str) -> tuple[int, int] | None:
    """Return step and fencing number of a checkpoint's name; None where it is no such name."""
    match = _NAME.fullmatch(name)
    return None if match is None else (int(match[1]), int(match[2]))


def is_live(step: int, fencing: int, begun: Mapping[int, int]) -> bool:
    """Tell whether a checkpoint is on the branch that the training went on with.

    Args:
        step: The step after which it was saved.
        fencing: Fencing number of the stretch that saved it.
        begun: From which step each stretch went on, by its fencing number; a later one that began before this
            checkpoint did without it.
    """
    return not any(later > fencing and from_step < step for later, from_step in begun.items())
