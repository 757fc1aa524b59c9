"""Checkpoint manifest: training, step, and the files with their digests."""

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
REWARD: Final = "reward"
"""Name of the metric that is the mean validation reward of a checkpoint's step, in [0, 1]."""

# Equal in all versions, so that an intact manifest of a newer version is distinguished from a damaged one.
_SEALED = re.compile(rb'\{"manifest":(\{.*\}),"sha256":"([0-9a-f]{64})"\}', re.DOTALL)
_NAME = re.compile(r"(\d{8,})-(\d{8,})")


class ManifestTooNew(InputError):
    """Manifest by a newer version of this program."""


class ManifestFile(BaseModel):
    """File of a checkpoint."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Digest of its bytes, its name in the mirror."""
    size: int = Field(ge=0)
    """Size in bytes."""
    crc32c: str = Field(pattern=r"^[A-Za-z0-9+/]{6}==$")
    """Base64 of the big-endian CRC-32C of its bytes, the notation of object stores."""


class Manifest(BaseModel):
    """Description of one checkpoint."""

    # Infinity and NaN are no JSON numbers, and a metric may be either.
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")

    version: Literal[2] = VERSION
    """Version of this format."""
    training: str
    """Key of its training."""
    base: str = Field(pattern=r"^[0-9a-f]{64}$")
    """The sha256 of the base policy that is trained."""
    step: int = Field(ge=0)
    """The step after which it was saved."""
    fencing: int = Field(ge=0)
    """Fencing number of the lease under which it was saved."""
    created_at: datetime
    """Time of saving, in UTC by the clock of the machine: for display only, never for comparisons."""
    metrics: dict[str, float]
    """Metrics of that step; `REWARD` where it was validated."""
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
        """Return the checkpoint's name within its training; sorts by step, then fencing number."""
        return checkpoint_name(self.step, self.fencing)

    @property
    def place(self) -> tuple[int, int]:
        """Return step and fencing number, by which checkpoints are ordered."""
        return self.step, self.fencing

    def is_live(self, begun: Mapping[int, int]) -> bool:
        """Return whether no later segment of the training began before this checkpoint."""
        return is_live(*self.place, begun)

    def to_bytes(self) -> bytes:
        """Return the manifest as JSON, with its own digest."""
        body = self.model_dump_json().encode()
        return b'{"manifest":' + body + b',"sha256":"' + hashlib.sha256(body).hexdigest().encode() + b'"}'

    @classmethod
    def from_bytes(cls, content: bytes) -> "Manifest":
        """Parse the output of `to_bytes`; ValueError for any other, `ManifestTooNew` for that of a newer version."""
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
    """Return the sha256 of every file of some checkpoints."""
    return {file.sha256 for manifest in manifests for file in manifest.files.values()}


def checkpoint_name(step: int, fencing: int) -> str:
    """Return the name of the checkpoint that was saved after a step under a fencing number."""
    return f"{step:08d}-{fencing:08d}"


def parse_name(name: str) -> tuple[int, int] | None:
    """Return step and fencing number of a checkpoint's name; None for any other name."""
    match = _NAME.fullmatch(name)
    return None if match is None else (int(match[1]), int(match[2]))


def is_live(step: int, fencing: int, begun: Mapping[int, int]) -> bool:
    """Return whether a checkpoint is on the training's current branch."""
    return not any(later > fencing and from_step < step for later, from_step in begun.items())
