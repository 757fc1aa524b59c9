"""Request to the process of the laptop's own engine."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class LocalEngineRequest(BaseModel):
    """What the engine serves, and where."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    weights: Path
    """Folder of the model: merged, or a base."""
    adapters: Mapping[str, Path]
    """Folders of adapters trained on it, by the names that they are asked by."""
    socket: Path
    """File of the Unix socket; one that an ended engine left is replaced."""
    rows: int = Field(ge=1)
    """Most answers drawn at once; more wait in order."""
    max_tokens: int = Field(ge=1)
    """Longest answer, in tokens."""
    seed: int = Field(ge=0)
    """Decides the tokens where a request gives no seed."""
