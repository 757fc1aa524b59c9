"""Rows of the audit sheet (docs/documents.md)."""

import re
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, field_validator

from schemas.documents import RaterKind
from schemas.tasks import TaskName

_WHOLE_WITH_COMMA: Final = re.compile(r"(?<=\d),0+(?=\s*\Z)")
_PSEUDONYM: Final = re.compile(r"\w[\w.\- ]{0,39}")


class SheetItem(BaseModel):
    """A completion on the audit sheet, as whoever scores sees it: the reward is never there."""

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
