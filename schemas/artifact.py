"""The record that is written beside every artifact: what it is, what made it, and from what."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

ArtifactKind = Literal[
    "prompts", "dataset", "base", "sheet", "audit", "policy", "plan", "answers", "evaluation", "promotion", "monitoring"
]


class TrainingStretch(BaseModel):
    """The steps that one machine trained."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    machine: str
    """The host."""
    from_step: int
    """The finished step that it went on from."""
    to_step: int | None
    """The last step that it finished; None where it was under way."""
    ended: str | None
    """Why it ended; None where it was under way."""
    began_at: datetime
    """In UTC, by the mirror's clock."""


Stretches = dict[str, tuple[TrainingStretch, ...]]
"""The stretches of each training, by its name in the mirror."""


class ArtifactRecord(BaseModel):
    """The identity and the origin of one immutable artifact."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: ArtifactKind
    """What the folder holds."""
    sha256: str
    """Digest of the content: of every file's relative path and sha256, in sorted order."""
    files: dict[str, str]
    """The sha256 of each file, by its path relative to the artifact's folder."""
    stage: str
    """The stage that made it."""
    code_version: str
    """Digest of the source that the stage runs."""
    config_digest: str
    """Digest of the part of the configuration that the stage reads."""
    inputs: dict[str, str]
    """The sha256 of each artifact that it was made from, by the role it played."""
    created_at: datetime
    """When it was finished, in UTC."""
    machine: str
    """The host that made it."""
    prefect_run_id: str | None = None
    """The Prefect flow run that made it."""
    mlflow_run_id: str | None = None
    """The MLflow run that describes it."""
    columns: dict[str, dict[str, str]] = Field(default_factory=dict)
    """The names and types of the columns of each parquet file, by its path; empty in older records."""
    sources: dict[str, str] = Field(default_factory=dict)
    """The sha256 of each file of source that the stage runs, by its path in the repository: what `code_version` is the
    digest of."""
    stretches: Stretches = Field(default_factory=dict)
    """The trainings that made it, a policy: which machine trained which steps. No part of the content, since the same
    policy comes of it however often it was interrupted."""
    config: dict[str, Any] = Field(default_factory=dict)
    """The run's configuration, but for where its state is: more than the stage reads, and what `config_digest` is
    of."""
