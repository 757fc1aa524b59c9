"""Table builder of a store: filled row by row, kept as columns, so that a large store needs little memory."""

from collections.abc import Iterable
from typing import Any, Final

import polars as pl

Row = tuple[Any, ...]

ROWS_IN_A_BATCH: Final = 5_000

_TEXT, _WHOLE, _NUMBER, _TIME, _FLAG = pl.String(), pl.Int64(), pl.Float64(), pl.Datetime("us"), pl.Boolean()
COLUMNS: Final[dict[str, dict[str, pl.DataType]]] = {
    "orders": {
        **dict.fromkeys(("order_id", "customer_id", "order_status"), _TEXT),
        "order_purchase_timestamp": _TIME,
        "order_approved_at": _TIME,
        "order_delivered_carrier_date": _TIME,
        "order_delivered_customer_date": _TIME,
        "order_estimated_delivery_date": _TIME,
    },
    "items": {
        "order_id": _TEXT,
        "order_item_id": _WHOLE,
        "product_id": _TEXT,
        "seller_id": _TEXT,
        "shipping_limit_date": _TIME,
        "price": _NUMBER,
        "freight_value": _NUMBER,
    },
    "payments": {
        "order_id": _TEXT,
        "payment_sequential": _WHOLE,
        "payment_type": _TEXT,
        "payment_installments": _WHOLE,
        "payment_value": _NUMBER,
    },
    "reviews": {
        "review_id": _TEXT,
        "order_id": _TEXT,
        "review_score": _WHOLE,
        "review_comment_title": _TEXT,
        "review_comment_message": _TEXT,
        "review_creation_date": _TIME,
        "review_answer_timestamp": _TIME,
    },
    "customers": dict.fromkeys(
        ("customer_id", "customer_unique_id", "customer_zip_code_prefix", "customer_city", "customer_state"), _TEXT
    ),
    "products": {
        **dict.fromkeys(("product_id", "product_category_name"), _TEXT),
        **dict.fromkeys(("product_name_lenght", "product_description_lenght", "product_photos_qty"), _WHOLE),
        **dict.fromkeys(("product_weight_g", "product_length_cm", "product_height_cm", "product_width_cm"), _WHOLE),
    },
    "sellers": dict.fromkeys(("seller_id", "seller_zip_code_prefix", "seller_city", "seller_state"), _TEXT),
    "category_translation": dict.fromkeys(("product_category_name", "product_category_name_english"), _TEXT),
    "review_causes": {
        "review_id": _TEXT,
        "sentiment": _TEXT,
        "sentiment_score": _WHOLE,
        "churn_risk": _NUMBER,
        **dict.fromkeys(("delivery_issue", "product_issue", "seller_issue"), _FLAG),
        "main_complaint": _TEXT,
        "complaint_category": _TEXT,
        **dict.fromkeys(("repeat_intent", "would_recommend"), _FLAG),
        "complaint_words": _TEXT,
    },
    "customer_hazards": {"customer_unique_id": _TEXT, "hazard": _NUMBER, "churned": _FLAG},
}
"""Columns and types of each table, in the order of its rows here; `schemas/store/tables.py` checks the values."""


class Batches:
    """Collector of rows of every table that turns each full batch into columns at once."""

    def __init__(self) -> None:
        """Start with empty tables."""
        self._rows: dict[str, list[Row]] = {table: [] for table in COLUMNS}
        self._frames: dict[str, list[pl.DataFrame]] = {table: [] for table in COLUMNS}

    def add(self, table: str, row: Row) -> None:
        """Add one row, its values in the order of `COLUMNS`."""
        rows = self._rows[table]
        rows.append(row)
        if len(rows) == ROWS_IN_A_BATCH:
            self._flush(table)

    def add_all(self, table: str, rows: Iterable[Row]) -> None:
        """Add rows."""
        for row in rows:
            self.add(table, row)

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return every table with all rows added so far."""
        for table in COLUMNS:
            self._flush(table)
        return {table: pl.concat(frames, rechunk=True) for table, frames in self._frames.items()}

    def _flush(self, table: str) -> None:
        if self._rows[table] or not self._frames[table]:
            self._frames[table].append(pl.DataFrame(self._rows[table], schema=COLUMNS[table], orient="row"))
            self._rows[table].clear()
