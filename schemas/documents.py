"""The lines and rows that people and other programs exchange with the pipeline (docs/documents.md)."""

import json
import re
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from schemas.errors import InputError
from schemas.faults import first_fault
from schemas.references import InUtc, Share, Stars, check_reference
from schemas.tasks import TASK_NAMES, SpecName, TaskName

RaterKind = Literal["human", "rubric", "model"]

_WHOLE_WITH_COMMA: Final = re.compile(r"(?<=\d),0+(?=\s*\Z)")
_PSEUDONYM: Final = re.compile(r"\w[\w.\- ]{0,39}")
_LARGEST: Final = 2**63 - 1
"""Largest integer that a table's column holds."""
MOST_MILLISECONDS: Final = 1e9
"""Largest latency of an answer: eleven days."""
MOST_DOLLARS: Final = 1e6
"""Largest cost of an answer: more is a mistake, and would drown all others."""
_DEEPEST: Final = 100


class Rollout(BaseModel):
    """One completion of one prompt, with the reference where it is known. Unknown keys are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)

    prompt_id: str = Field(min_length=1)
    """Identity of the prompt: the sha256 of its content, in hexadecimal."""
    task: TaskName
    """The prompt's task, one of six; never guessed from the text."""
    prompt: str
    """The shopper's or analyst's question, without the system prompt."""
    completion: str
    """The policy's answer: hostile text, of any length."""
    reference: dict[str, Any] | None = None
    """The known part of the right answer, in the shape of its task; None where nothing is known."""

    @model_validator(mode="after")
    def _reference_fits_its_task(self) -> Self:
        if self.reference is not None:
            _check_reference(self.task, self.reference)
        return self


class ScoredRollout(Rollout):
    """A rollout with its reward and the reward's components."""

    reward: float = Field(ge=0, le=1)
    components: dict[str, Share]
    parsed: dict[str, Any] | None
    """The object parsed from the completion, where the task asks for one and one was found."""
    spec: SpecName
    reward_version: str = Field(min_length=1)
    """Version of its task's reward: the digest of the scorer's code and word lists."""


class PairedScore(BaseModel):
    """One score of one model on one prompt: a line of the files that `tucano compare` reads."""

    model_config = ConfigDict(extra="allow", frozen=True)

    prompt_id: str = Field(min_length=1)
    task: TaskName
    seed: int = Field(ge=-_LARGEST, le=_LARGEST)
    """Seed of the training run that made the model."""
    sample: int = Field(ge=0, le=_LARGEST)
    """Number of the completion among several of the prompt, from 0."""
    score: float = Field(ge=0, le=1, allow_inf_nan=False)
    truth: Share | None = None
    """The ground truth of this answer, in [0, 1], which is no reward; None where unknown."""
    decoding: str | None = None
    """How the answer was drawn, equal for all answers of a comparison; None where unknown."""


class SheetItem(BaseModel):
    """A completion on the audit sheet (docs/documents.md), as whoever scores sees it: the reward is never there."""

    model_config = ConfigDict(frozen=True)

    audit_id: str = Field(min_length=1)
    """Identity of the completion, decided by its text (`tasks.audit.sheet.audit_id`)."""
    task: TaskName
    prompt_id: str
    stratum: str
    """Reason why the completion was chosen for the sheet; it does not reveal the reward."""
    prompt: str
    completion: str


class SheetRow(SheetItem):
    """The score that one rater gave one completion: a row of the sheet."""

    human_score: int = Field(ge=1, le=5)
    """1 (useless) to 5 (faultless)."""
    rater: str = Field(min_length=1)
    """Pseudonym of the rater, in lower case, so that nobody becomes two raters by mistake."""
    rater_kind: RaterKind
    notes: str

    @field_validator("human_score", mode="before")
    @classmethod
    def _may_have_a_decimal_comma(cls, value: object) -> object:
        # A spreadsheet that shows decimals in Brazil saves 4 as 4,0; 3,5 stays what it is, and is refused.
        return _WHOLE_WITH_COMMA.sub("", value) if isinstance(value, str) else value

    @field_validator("rater", "rater_kind", mode="before")
    @classmethod
    def _is_written_in_one_way(cls, value: object) -> object:
        return value.strip().lower() if isinstance(value, str) else value

    @field_validator("rater")
    @classmethod
    def _rater_is_a_pseudonym(cls, rater: str) -> str:
        # It is shown on pages and kept with the audit: no address, and nothing that a page would read as markup.
        if not _PSEUDONYM.fullmatch(rater):
            raise ValueError("must be a pseudonym of up to 40 letters, digits, dots, hyphens and spaces, no address")
        return rater


class LoggedAnswer(BaseModel):
    """One request to a served model: a line of the logs that `tucano monitor` reads. Unknown keys are dropped.

    Only the inputs of a day's figures are required. An identity that was not logged stays unknown: an invented one
    would separate or merge requests without any evidence.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    request_id: str | None = Field(default=None, min_length=1)
    """Identity of the request, by which logs that are delivered twice are recognized. None: each line is a request."""
    prompt_id: str | None = Field(default=None, min_length=1)
    task: TaskName
    prompt: str
    completion: str
    time: InUtc
    """Time of the request, with its zone, such as 2026-01-31T23:59:59-03:00."""
    model_version: str | None = Field(default=None, min_length=1)
    """The model that answered, as the serving side names it; NAME/VERSION separates the champion from others."""
    latency_ms: float = Field(ge=0, le=MOST_MILLISECONDS, allow_inf_nan=False)
    cost: Annotated[float, Field(ge=0, le=MOST_DOLLARS, allow_inf_nan=False)] | None = None
    """US dollars that the answer cost, where known by request."""
    reference: dict[str, Any] | None = None
    """The known part of the right answer, in the shape of its task; None where nothing is known."""
    reward: Share | None = None
    """The reward in [0, 1], where the serving side scored the answer; monitoring computes its own."""
    rating: Stars | None = None
    """The asking person's rating of the answer, from 1 to 5."""

    @model_validator(mode="after")
    def _reference_fits_its_task(self) -> Self:
        if self.reference is not None:
            check_logged_reference(self.task, self.reference)
        return self


class Feedback(BaseModel):
    """What became known of an answer after it was logged: a line of `feedback/` beside the logs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    request_id: str = Field(pattern=rf"^({'|'.join(TASK_NAMES)})-[0-9a-f]{{32}}$")
    time: InUtc
    """Time when it became known."""
    reference: dict[str, Any] | None = None
    rating: Stars | None = None

    @property
    def task(self) -> TaskName:
        """The request's task."""
        return next(task for task in TASK_NAMES if self.request_id.startswith(f"{task}-"))

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.reference is None and self.rating is None:
            raise ValueError("neither reference nor rating is given; give one of them")
        if self.reference is not None:
            check_logged_reference(self.task, self.reference)
        return self


def check_logged_reference(task: TaskName, reference: dict[str, Any]) -> None:
    """Refuse a reference that does not have the shape of its task, or that cannot be written as JSON again."""
    _check_reference(task, reference)
    if not is_flat(reference, _DEEPEST):
        raise ValueError(f"reference of {task}: nested more than {_DEEPEST} deep; leave out what no reward reads")
    try:
        # Python reads integers of any length; later readers do not.
        orjson.loads(json.dumps(reference, allow_nan=False))
    except ValueError:
        raise ValueError(f"reference of {task}: a number in it is not finite, or too large") from None


def is_flat(value: Any, levels: int) -> bool:
    """Return whether a JSON value has at most so many levels of objects and lists."""
    if not isinstance(value, (dict, list)):
        return True
    parts = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(is_flat(part, levels - 1) for part in parts)


def _check_reference(task: TaskName, reference: dict[str, Any]) -> None:
    try:
        check_reference(task, reference)
    except ValidationError as error:
        raise ValueError(f"reference of {task}: {first_fault(error)}") from None


AUDIT_RECORD_FILE: Final = "audit.json"
"""File of an audit with its inputs, raters and verdict, which training reads before it starts."""


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
