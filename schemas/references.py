"""References of the six tasks: the known part of a prompt's right answer (docs/documents.md).

Every key must be there; an unknown value is null and is not scored. Of what a prompt's text says, people may give the
reference: a field with null was asked, and the person could not tell; a field that is left out was not asked.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from schemas.faults import first_fault
from schemas.json_lines import read_json_lines
from schemas.tasks import TaskName

Sentiment = Literal["positive", "neutral", "negative"]
Stars = Annotated[int, Field(ge=1, le=5)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1)]
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
InUtc = Annotated[AwareDatetime, Field(ge=_FIRST, lt=_LAST), AfterValidator(lambda time: time.astimezone(UTC))]


class Reference(BaseModel):
    """A reference of any task; unknown keys are kept."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    @model_validator(mode="after")
    def _has_kept_keys_that_rewards_can_read(self) -> "Reference":
        kept = self.model_extra or {}
        words, profile = kept.get("complaint_words") or "", kept.get("profile") or {}
        texts = [words, *profile, *profile.values()] if isinstance(profile, dict) else [None]
        if not all(isinstance(each, str) for each in texts):
            raise ValueError("complaint_words must be a text, and profile texts by their names")
        return self


class ExtractionFields(BaseModel):
    """The ten fields of an extraction, where known; a field of another name is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    sentiment: Sentiment | None = None
    sentiment_score: Stars | None = None
    churn_risk: Share | None = None
    delivery_issue: bool | None = None
    product_issue: bool | None = None
    seller_issue: bool | None = None
    main_complaint: str | None = None
    complaint_category: Literal["delivery", "product", "seller", "price", "other", "none"] | None = None
    repeat_intent: bool | None = None
    would_recommend: bool | None = None


class ExtractionReference(Reference):
    """The review's rating and the known fields."""

    rating: Stars | None
    fields: ExtractionFields | None


class SqlReference(Reference):
    """The query that answers the question."""

    sql: Text | None


class InsightsReference(Reference):
    """The printed cells of the prompt's table, row by row."""

    facts: list[Text | int | Annotated[float, Field(allow_inf_nan=False)]] | None


class PushReference(Reference):
    """The words that the notification must contain."""

    product: Text | None
    offer: Text | None


class SentimentReference(Reference):
    """The review's polarity and its score."""

    polarity: Sentiment | None
    score: Stars | None


class ChurnReference(Reference):
    """The shopper's true outcome: left or not."""

    churn: bool | None


REFERENCES: Final[Mapping[TaskName, type[Reference]]] = {
    "extraction": ExtractionReference,
    "sql_qa": SqlReference,
    "insights": InsightsReference,
    "push": PushReference,
    "sentiment": SentimentReference,
    "churn": ChurnReference,
}


def check_reference(task: TaskName, reference: Mapping[str, Any]) -> None:
    """Refuse a reference that does not have the shape of its task, by pydantic's ValidationError."""
    REFERENCES[task].model_validate(reference)


def knows_anything(reference: Any) -> bool:
    """Return whether a reference knows any value; one that does not is scored by form alone, like none."""
    if isinstance(reference, Mapping):
        return any(map(knows_anything, reference.values()))
    return reference is not None and reference != []


AskedTask = Literal["extraction", "sentiment"]
ASKED_FIELDS: Final[Mapping[TaskName, tuple[str, ...]]] = {
    "extraction": tuple(ExtractionFields.model_fields),
    "sentiment": ("polarity", "score"),
}
"""The fields that people are asked for, by task, in the order of the questions."""


class GivenReference(BaseModel):
    """Part of a prompt's reference that one person gave."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    prompt_id: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    task: AskedTask
    reference: dict[str, Any]
    """The fields that were asked, in the shape of the task's reference; null where the person could not tell."""
    rater: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,30}$")]

    @model_validator(mode="after")
    def _is_of_its_task(self) -> "GivenReference":
        known = ("fields",) if self.task == "extraction" else ASKED_FIELDS[self.task]
        if not self.reference.keys() <= set(known):
            raise ValueError(f"reference has a key that nobody is asked for; of {self.task} it has {', '.join(known)}")
        try:
            check_reference(self.task, dict.fromkeys(REFERENCES[self.task].model_fields) | self.reference)
        except ValidationError as error:
            # The error's own message would repeat what is there.
            raise ValueError(f"reference: {first_fault(error)}") from None
        return self

    @property
    def values(self) -> Mapping[str, Any]:
        """Return the fields that were asked, by name."""
        return values_of(self.task, self.reference)


def read_given(path: Path) -> tuple[GivenReference, ...]:
    """Return the references that people gave; of a file from which the last one was taken out, none."""
    if path.is_file() and not path.stat().st_size:
        return ()
    return read_json_lines(path, GivenReference, "references")


def values_of(task: TaskName, reference: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a reference that people may be asked for, by name; other tasks have none."""
    known = (reference.get("fields") or {}) if task == "extraction" else reference
    return {name: known[name] for name in ASKED_FIELDS.get(task, ()) if name in known}


def with_values(task: TaskName, reference: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reference with these fields in it."""
    if task == "extraction":
        return {**reference, "fields": {**(reference.get("fields") or {}), **values}}
    return {**reference, **values}
