"""Table schemas of a store: Olist's columns, their types and permitted values."""

from collections.abc import Callable, Mapping
from typing import Final

import polars as pl

from schemas.store.column_map import ORDER_STATUSES
from schemas.tables.table_check import Column, TableSchema, at_least, between, one_of

TOLERATED_WITHOUT_DATE: Final = 0.002
"""Share of delivered orders that may lack the date: Olist has 8 such in 96,478, and its sample 7 in some 5,900."""
# fmt: off
STATES: Final = (
    "AC", "AL", "AM", "AP", "BA", "CE", "DF", "ES", "GO", "MA", "MG", "MS", "MT", "PA",
    "PB", "PE", "PI", "PR", "RJ", "RN", "RO", "RR", "RS", "SC", "SE", "SP", "TO",
)
# fmt: on
_TEXT, _WHOLE, _NUMBER, _FLAG, _TIME = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean(), pl.Datetime("us")
_ID: Final = Column(_TEXT)
_KEY: Final = Column(_TEXT, unique=True)
_ANY_TEXT: Final = Column(_TEXT, nullable=True)
_MOMENT: Final = Column(_TIME, nullable=True)
_SIZE: Final = Column(_WHOLE, at_least(0), nullable=True)
_STATE: Final = Column(_TEXT, one_of(STATES), nullable=True)
_STARS: Final = Column(_WHOLE, between(1, 5))


def _rows(is_right: pl.Expr) -> Callable[[pl.DataFrame], pl.Series]:
    return lambda table: table.select(is_right).to_series()


_DELIVERED: Final = pl.col("order_status") == "delivered"
_HAS_NO_DATE: Final = pl.col("order_delivered_customer_date").is_null()
_WITHOUT: Final = _DELIVERED & _HAS_NO_DATE
# A shop that keeps no such dates has none at all; Olist as Kaggle ships it lacks a few.
_TOLERATED: Final = _HAS_NO_DATE.all() | (_WITHOUT.sum() <= TOLERATED_WITHOUT_DATE * _DELIVERED.sum())
_WAS_SENT: Final = pl.col("order_status").is_in(["delivered", "canceled"])
# The carrier's date says less: in Olist it lies before the purchase, or after the delivery, of some orders.
_LATER: Final = pl.min_horizontal("order_approved_at", "order_delivered_customer_date")

TABLES: Final[Mapping[str, TableSchema]] = {
    "orders": TableSchema(
        {
            "order_id": _KEY,
            "customer_id": _ID,
            "order_status": Column(_TEXT, one_of([*ORDER_STATUSES]), nullable=True),
            "order_purchase_timestamp": Column(_TIME),
            "order_approved_at": _MOMENT,
            "order_delivered_carrier_date": _MOMENT,
            "order_delivered_customer_date": _MOMENT,
            "order_estimated_delivery_date": _MOMENT,
        },
        rules={
            "a delivered order has a delivery date": _rows(~_WITHOUT | _TOLERATED),
            "only what was sent has a delivery date": _rows(_WAS_SENT | _HAS_NO_DATE),
            "nothing is before the purchase": _rows(pl.col("order_purchase_timestamp") <= _LATER),
        },
    ),
    "items": TableSchema(
        {
            "order_id": _ID,
            "order_item_id": Column(_WHOLE, at_least(1)),
            "product_id": _ID,
            "seller_id": _ID,
            "shipping_limit_date": _MOMENT,
            "price": Column(_NUMBER, at_least(0)),
            "freight_value": Column(_NUMBER, at_least(0), nullable=True),
        },
        unique=("order_id", "order_item_id"),
    ),
    "payments": TableSchema(
        {
            "order_id": _ID,
            "payment_sequential": Column(_WHOLE, at_least(1)),
            "payment_type": Column(
                _TEXT, one_of(["credit_card", "boleto", "pix", "voucher", "debit_card", "not_defined"]), nullable=True
            ),
            "payment_installments": _SIZE,
            "payment_value": Column(_NUMBER, at_least(0)),
        },
        unique=("order_id", "payment_sequential"),
    ),
    "reviews": TableSchema(
        {
            "review_id": _ID,
            "order_id": _ID,
            "review_score": _STARS,
            "review_comment_title": _ANY_TEXT,
            "review_comment_message": _ANY_TEXT,
            "review_creation_date": _MOMENT,
            "review_answer_timestamp": _MOMENT,
        },
        unique=("review_id", "order_id"),
        rules={
            "no answer is before its question": _rows(
                pl.col("review_answer_timestamp") >= pl.col("review_creation_date")
            )
        },
    ),
    "customers": TableSchema(
        {
            "customer_id": _KEY,
            "customer_unique_id": _ID,
            "customer_zip_code_prefix": _ANY_TEXT,
            "customer_city": _ANY_TEXT,
            "customer_state": _STATE,
        }
    ),
    "products": TableSchema(
        {
            "product_id": _KEY,
            "product_category_name": _ANY_TEXT,
            **dict.fromkeys(("product_name_lenght", "product_description_lenght", "product_photos_qty"), _SIZE),
            **dict.fromkeys(("product_weight_g", "product_length_cm", "product_height_cm", "product_width_cm"), _SIZE),
        }
    ),
    "sellers": TableSchema(
        {"seller_id": _KEY, "seller_zip_code_prefix": _ANY_TEXT, "seller_city": _ANY_TEXT, "seller_state": _STATE}
    ),
    "category_translation": TableSchema({"product_category_name": _KEY, "product_category_name_english": _ANY_TEXT}),
    "review_causes": TableSchema(
        {
            "review_id": _KEY,
            "sentiment": Column(_TEXT, one_of(["positive", "neutral", "negative"])),
            "sentiment_score": _STARS,
            "churn_risk": Column(_NUMBER, between(0, 1)),
            "delivery_issue": Column(_FLAG),
            "product_issue": Column(_FLAG),
            "seller_issue": Column(_FLAG),
            "main_complaint": _ID,
            "complaint_category": Column(_TEXT, one_of(["delivery", "product", "seller", "price", "other", "none"])),
            "repeat_intent": Column(_FLAG),
            "would_recommend": Column(_FLAG),
            # The main complaint as the review's own words tell it; earlier stores have no such column.
            "complaint_words": Column(_TEXT, nullable=True, required=False),
        }
    ),
    "customer_hazards": TableSchema(
        {"customer_unique_id": _KEY, "hazard": Column(_NUMBER, between(0, 1), nullable=True), "churned": Column(_FLAG)}
    ),
}
"""The schema of each table, by its name in `schemas.store.store.Store`."""

LINKS: Final = (
    ("orders", "customer_id", "customers"),
    ("items", "order_id", "orders"),
    ("items", "product_id", "products"),
    ("items", "seller_id", "sellers"),
    ("payments", "order_id", "orders"),
    ("reviews", "order_id", "orders"),
    ("review_causes", "review_id", "reviews"),
    ("customer_hazards", "customer_unique_id", "customers"),
)
"""A table's column, each of whose values must be in the column of the same name of another table."""
