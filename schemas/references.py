"""References of the six tasks: the known part of a prompt's right answer (docs/documents.md).

Every key must be there; an unknown value is null and is not scored.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from schemas.tasks import TaskName

Sentiment = Literal["positive", "neutral", "negative"]
Stars = Annotated[int, Field(ge=1, le=5)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1)]


class Reference(BaseModel):
    """A reference of any task; unknown keys are kept."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)


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
    """The facts that the table holds, the most informative first."""

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
    """Refuse a reference that does not have the shape of its task.

    Raises:
        pydantic.ValidationError: A key is missing, or a value has the wrong type or is out of range.
    """
    REFERENCES[task].model_validate(reference)


def knows_anything(reference: Any) -> bool:
    """Return whether a reference knows any value; one that does not is scored by form alone, like none."""
    if isinstance(reference, Mapping):
        return any(map(knows_anything, reference.values()))
    return reference is not None and reference != []
