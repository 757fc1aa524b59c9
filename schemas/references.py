"""What is known of a prompt's right answer, by task (DESIGN: Documents).

Every key must be there; what nobody knows holds null and is not scored.
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
    """The known ones of an extraction's ten fields; a field of another name is a mistake."""

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
    """The review's rating and what is known of the fields."""

    rating: Stars | None
    fields: ExtractionFields | None


class SqlReference(Reference):
    """The query that answers the question."""

    sql: Text | None


class InsightsReference(Reference):
    """The facts that the table holds, the most telling first."""

    facts: list[Text | int | Annotated[float, Field(allow_inf_nan=False)]] | None


class PushReference(Reference):
    """What the notification must name."""

    product: Text | None
    offer: Text | None


class SentimentReference(Reference):
    """The review's polarity and its score."""

    polarity: Sentiment | None
    score: Stars | None


class ChurnReference(Reference):
    """Whether the shopper left."""

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
    """Refuse a reference that has not the shape of its task.

    Raises:
        pydantic.ValidationError: A key is missing, or a value has the wrong type or lies out of its range.
    """
    REFERENCES[task].model_validate(reference)
