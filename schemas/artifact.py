"""Record next to every artifact: identity, origin and inputs."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

ArtifactKind = Literal[
    "prompts",
    "dataset",
    "base",
    "sheet",
    "audit",
    "environment",
    "policy",
    "merged",
    "plan",
    "scores",
    "search",
    "answers",
    "evaluation",
    "promotion",
    "monitoring",
]


class TrainingSegment(BaseModel):
    """The steps that one machine trained, in the form of an artifact's record."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    machine: str
    from_step: int
    to_step: int | None
    """The last step that it finished; None while it was running."""
    ended: str | None
    """Reason of its end; None while it was running."""
    began_at: datetime
    """In UTC, by the mirror's clock."""


Segments = dict[str, tuple[TrainingSegment, ...]]
"""The segments of each training, by its name in the mirror."""


class Worker(BaseModel):
    """The machine that worked on the weights of a stage."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    machine: str
    device: str | None
    """Its GPU, by torch's name, or `cpu`; None where the stage loaded no weights."""
    spot: bool = False
    """Whether an hour of it has a Spot price."""
    prefect_run_id: str | None


class Origin(BaseModel):
    """Origin of an artifact, as reported by its stage's work."""

    model_config = ConfigDict(frozen=True)

    segments: Segments = Field(default_factory=dict)
    worker: Worker | None = None
    """The machine that worked on weights; None where there was none."""


class ArtifactRecord(BaseModel):
    """The identity and the origin of one immutable artifact."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: ArtifactKind
    sha256: str
    """Digest of the content: of every file's relative path and sha256, in sorted order."""
    files: dict[str, str]
    """The sha256 of each file, by its path relative to the artifact's folder."""
    stage: str
    code_version: str
    """Digest of the source that the stage runs."""
    config_digest: str
    """Digest of the part of the configuration that the stage reads."""
    inputs: dict[str, str]
    """The sha256 of each artifact that it was made from, by role."""
    created_at: datetime
    machine: str
    prefect_run_id: str | None = None
    mlflow_run_id: str | None = None
    columns: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Column types by parquet file; only in records of earlier versions."""
    sources: dict[str, str] = Field(default_factory=dict)
    """The sha256 of each source file that the stage runs, by its path in the repository; `code_version` is their
    digest."""
    # The name on disk stays: every record.json has it.
    stretches: Segments = Field(default_factory=dict)
    """The trainings that made a policy: which machine trained which steps. Not part of the content, since the policy is
    the same however often its training was interrupted."""
    worker: Worker | None = None
    """The machine that worked on the weights, which may differ from the one that made it an artifact; None where no
    weights were needed, and in older records."""
    config: dict[str, Any] = Field(default_factory=dict)
    """The run's configuration without the location of its state: more than the stage reads, and than `config_digest`
    covers."""
