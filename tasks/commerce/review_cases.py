"""Reviews with what the store knows about them: the material of extraction and sentiment."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from schemas.store import Store

CAUSE_FIELDS: Final = (
    "sentiment",
    "sentiment_score",
    "churn_risk",
    "delivery_issue",
    "product_issue",
    "seller_issue",
    "main_complaint",
    "complaint_category",
    "repeat_intent",
    "would_recommend",
)
"""The ten fields of an extraction, in the order in which an answer gives them."""


@dataclass(frozen=True)
class ReviewCase:
    """One review that says something in words."""

    review_id: str
    order_id: str
    customer_id: str
    """Olist's `customer_unique_id`."""
    rating: int
    text: str
    """Title and message."""
    delivered_late: bool | None
    """None where the order was not delivered."""
    known: dict[str, Any]
    """The fields of an extraction that the store knows."""


def review_cases(store: Store) -> list[ReviewCase]:
    """Return the store's reviews that have words, by `review_id`.

    Of a simulated review everything is known. Of a real one the rating tells the sentiment, and the order that the
    delivery was late; that it was in time does not tell that the shopper has no quarrel with it.
    """
    import polars as pl

    table = (
        store.reviews.unique("review_id", keep="first", maintain_order=True)
        .join(store.orders, on="order_id")
        .join(store.customers, on="customer_id")
        .sort("review_id")
    )
    if store.review_causes is not None:
        causes = store.review_causes.select("review_id", pl.struct(CAUSE_FIELDS).alias("causes"))
        table = table.join(causes, on="review_id", how="left", maintain_order="left")
    cases = (_case(row) for row in table.iter_rows(named=True))
    return [case for case in cases if case.text]


def sentiment_of(rating: int) -> str:
    """Return what a rating of 1 to 5 stars says of the sentiment."""
    return "positive" if rating >= 4 else "neutral" if rating == 3 else "negative"


def _case(row: dict[str, Any]) -> ReviewCase:
    rating = row["review_score"]
    late = is_late(row["order_delivered_customer_date"], row["order_estimated_delivery_date"])
    known = row.get("causes")
    if known is None:
        known = {"sentiment": sentiment_of(rating), "sentiment_score": rating}
        known |= {"delivery_issue": True} if late else {}
    return ReviewCase(
        review_id=row["review_id"],
        order_id=row["order_id"],
        customer_id=row["customer_unique_id"],
        rating=rating,
        text=_text(row["review_comment_title"] or "", row["review_comment_message"] or ""),
        delivered_late=late,
        known=known,
    )


def _text(title: str, message: str) -> str:
    title, message = " ".join(title.split()), " ".join(message.split())
    separator = "" if not title or not message else " " if title[-1] in ".!?" else ". "
    return f"{title}{separator}{message}"


def is_late(delivered: datetime | None, promised: datetime) -> bool | None:
    """Tell whether a delivery came after the promised day; None where there was none."""
    return None if delivered is None else delivered.date() > promised.date()
