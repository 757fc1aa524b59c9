"""Reviews with the store's knowledge about them: the material of extraction and sentiment."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schemas.store.store import Store
from tasks.commerce.extraction.real_reviews import of_stars
from tasks.commerce.inputs import review_prompt
from tasks.commerce.text.json_fields import CAUSE_FIELDS

SOMETHING: Final = r"[^\s\x1c-\x1f]"
"""A character that is no space, in both Python and polars."""
WORDS: Final = "complaint_words"  # Of the hidden truth; a store may lack it.


@dataclass(frozen=True)
class ReviewCase:
    """Review with any words."""

    review_id: str
    order_id: str
    customer_id: str
    """Olist's `customer_unique_id`."""
    rating: int
    text: str
    known: dict[str, Any]
    complaint_words: str | None = None
    """Words of the message that make the main complaint, where the store knows them; empty without one."""

    def prompt(self, instruction: str) -> str:
        """Return the prompt of a task that reads the review; it omits the rating."""
        return review_prompt(instruction, self.text)


class ReviewCases(Sequence[ReviewCase]):
    """Lazy sequence of a store's reviews: all of a large store's would fill the memory."""

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return len(self._columns["review_id"])

    def __getitem__(self, place: int) -> ReviewCase:  # type: ignore[override]  # Nobody takes a slice.
        columns = self._columns
        rating = columns["review_score"][place]
        text = _text(columns["review_comment_title"][place] or "", columns["review_comment_message"][place] or "")
        is_known = "sentiment" in columns and columns["sentiment"][place] is not None
        return ReviewCase(
            review_id=columns["review_id"][place],
            order_id=columns["order_id"][place],
            customer_id=columns["customer_unique_id"][place],
            rating=rating,
            text=text,
            known={name: columns[name][place] for name in CAUSE_FIELDS} if is_known else dict(of_stars(text, rating)),
            complaint_words=columns[WORDS][place] if WORDS in columns else None,
        )

    def only(self, is_chosen: Callable[[ReviewCase], bool]) -> "ReviewCases":
        """Return some of the reviews."""
        places = [place for place, case in enumerate(self) if is_chosen(case)]
        return ReviewCases({name: [column[place] for place in places] for name, column in self._columns.items()})


def review_cases(store: Store) -> ReviewCases:
    """Return the store's reviews with words, by `review_id`.

    Everything is known of a simulated review, and the sentiment of a real one by its rating, unless its words plainly
    contradict it. A late delivery is not: a shopper who says nothing of it need not mind.
    """
    import polars as pl
    from polars import selectors as cs

    title, message = pl.col("review_comment_title"), pl.col("review_comment_message")
    table = (
        store.reviews.unique("review_id", keep="first", maintain_order=True)
        .filter(title.fill_null("").str.contains(SOMETHING) | message.fill_null("").str.contains(SOMETHING))
        .select("review_id", "order_id", "review_score", title, message)
        .join(store.orders.select("order_id", "customer_id"), on="order_id")
        .join(store.customers.select("customer_id", "customer_unique_id"), on="customer_id")
    )
    if store.review_causes is not None:
        causes = store.review_causes.select("review_id", *CAUSE_FIELDS, cs.by_name(WORDS, require_all=False))
        table = table.join(causes, on="review_id", how="left")
    return ReviewCases(table.sort("review_id").to_dict(as_series=False))


def _text(title: str, message: str) -> str:
    title, message = " ".join(title.split()), " ".join(message.split())
    separator = "" if not title or not message else " " if title[-1] in ".!?" else ". "
    return f"{title}{separator}{message}"
