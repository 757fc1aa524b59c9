"""Reviews with the store's knowledge about them: the material of extraction and sentiment."""

from typing import Any, Final, NamedTuple

from schemas.store.store import Store
from tasks.commerce.extraction.real_reviews import of_stars
from tasks.commerce.inputs import review_prompt
from tasks.commerce.text.json_fields import CAUSE_FIELDS

SOMETHING: Final = r"[^\s\x1c-\x1f]"  # A character that is no space, in both Python and polars.
WORDS: Final = "complaint_words"  # Of the hidden truth; a store may lack it.


class ReviewCase(NamedTuple):
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


def review_cases(store: Store) -> list[ReviewCase]:
    """Return the store's reviews with words: all is known of a simulated one, of a real one what its stars say."""
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
    found = []
    for row in table.sort("review_id").iter_rows(named=True):
        text = _text(row["review_comment_title"] or "", row["review_comment_message"] or "")
        is_known = row.get("sentiment") is not None
        known = {name: row[name] for name in CAUSE_FIELDS} if is_known else dict(of_stars(text, row["review_score"]))
        ids = (row["review_id"], row["order_id"], row["customer_unique_id"])
        found.append(ReviewCase(*ids, row["review_score"], text, known, row.get(WORDS)))
    return found


def _text(title: str, message: str) -> str:
    title, message = " ".join(title.split()), " ".join(message.split())
    separator = "" if not title or not message else " " if title[-1] in ".!?" else ". "
    return f"{title}{separator}{message}"
