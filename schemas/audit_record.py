"""Record of an audit: its inputs, raters and verdict. Training reads it before it starts."""

from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from schemas.documents import RaterKind
from schemas.errors import InputError
from schemas.tasks import SpecName, TaskName

AUDIT_RECORD_FILE: Final = "audit.json"


class AuditedTask(BaseModel):
    """One task's figures, as the history of audits shows them."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    n: int
    rho: float | None
    """Spearman's rho; None where it cannot be computed."""
    rho_low: float | None
    verdict: str


class AuditRecord(BaseModel):
    """Identities and verdict of one audit."""

    # Audits are kept forever; a later version may have more fields.
    model_config = ConfigDict(extra="ignore", frozen=True)

    spec: SpecName
    reward_version: str = Field(min_length=1)
    """Digest of the versions of all tasks' rewards."""
    reward_versions: dict[TaskName, str] = Field(default_factory=dict)
    """The version of each audited task's reward; empty in records from before each task had one."""
    sheet_sha256: str
    rollouts_sha256: str
    raters: dict[str, RaterKind]
    """Kind of each rater, by pseudonym."""
    verdict: Literal["passed", "refused"]
    reasons: tuple[str, ...]
    thresholds: dict[str, float]
    """Thresholds of the gate, by their names in the configuration; `require_human` is 1 or 0."""
    tasks: dict[TaskName, AuditedTask]


def read_audit_record(folder: Path) -> AuditRecord:
    """Read the record in an audit's folder."""
    path = folder / AUDIT_RECORD_FILE
    try:
        return AuditRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        raise InputError(f"{path} is no record of a reward audit; audit the rewards again") from None
