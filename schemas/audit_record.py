"""What an audit says of itself: what was audited, by whom, and the verdict. Training reads it before it starts."""

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
    """Scored completions."""
    rho: float | None
    """Spearman's rho; None where it cannot be computed."""
    rho_low: float | None
    """Its lower bound."""
    verdict: str
    """What is known of the task's reward."""


class AuditRecord(BaseModel):
    """The identities and the verdict of one audit."""

    # Audits are kept for good: a later one may know more.
    model_config = ConfigDict(extra="ignore", frozen=True)

    spec: SpecName
    """The reward specification."""
    reward_version: str = Field(min_length=1)
    """Digest of the reward's code and word lists."""
    sheet_sha256: str
    """Digest of the scored sheet."""
    rollouts_sha256: str
    """Digest of the rollouts that the sheet was made of."""
    raters: dict[str, RaterKind]
    """Who scored, by their pseudonyms, and what they are."""
    verdict: Literal["passed", "refused"]
    """Whether training may start."""
    reasons: tuple[str, ...]
    """Why, in words."""
    thresholds: dict[str, float]
    """What the gate asked for, by the names of the configuration; `require_human` is 1 or 0."""
    tasks: dict[TaskName, AuditedTask]
    """The figures of each task."""


def read_audit_record(folder: Path) -> AuditRecord:
    """Read the record in an audit's folder.

    Raises:
        InputError: There is none, or it is no audit's record.
    """
    path = folder / AUDIT_RECORD_FILE
    try:
        return AuditRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        raise InputError(f"{path} is no record of a reward audit; audit the rewards again") from None
