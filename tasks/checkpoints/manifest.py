"""The manifest of a mirrored checkpoint: which bytes it is made of."""

import hashlib
from datetime import datetime
from pathlib import PurePosixPath
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator


class ManifestFile(BaseModel):
    """One file of a checkpoint."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Digest of its bytes, by which the mirror keeps them."""
    size: int = Field(ge=0)
    """Its bytes."""


class Manifest(BaseModel):
    """One checkpoint in the mirror."""

    # Infinity and not-a-number are no JSON numbers, and a metric may be either.
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")

    version: Literal[1] = 1
    """Version of this format."""
    run: str
    """The training that it is of."""
    step: int = Field(ge=0)
    """The step after which it was saved."""
    created_at: datetime
    """When it was published, in UTC."""
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
        return files

    def to_bytes(self) -> bytes:
        """Return the manifest as JSON, with its own digest."""
        body = self.model_dump_json()
        digest = hashlib.sha256(body.encode()).hexdigest()
        return _Sealed.model_construct(manifest=self, sha256=digest).model_dump_json().encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> "Manifest":
        """Read what `to_bytes` wrote.

        Raises:
            ValueError: It is something else, or one byte of it was altered.
        """
        manifest = _Sealed.model_validate_json(content).manifest
        if manifest.to_bytes() != content:
            raise ValueError("the manifest was altered")
        return manifest


class _Sealed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")

    manifest: Manifest
    sha256: str
