"""Table schemas of a store: Olist's columns, their types and permitted values.

Import it inside the function that checks a table: pandera takes a second to load.
"""

from datetime import datetime
from typing import Final, Optional

import pandera.polars as pa
import polars as pl
from pandera.polars import PolarsData

from schemas.store.mapped_tables import ORDER_STATUSES

TOLERATED_WITHOUT_DATE: Final = 0.002
"""Share of delivered orders that may lack the date: Olist has 8 such in 96,478, and its sample 7 in some 5,900."""
# fmt: off
STATES: Final = (
    "AC", "AL", "AM", "AP", "BA", "CE", "DF", "ES", "GO", "MA", "MG", "MS", "MT", "PA",
    "PB", "PE", "PI", "PR", "RJ", "RN", "RO", "RR", "RS", "SC", "SE", "SP", "TO",
)
# fmt: on


class _StoreTable(pa.DataFrameModel):  # type: ignore[misc]
    """A table of a store: exactly the declared columns, with exactly their types."""

    class Config:
        strict = True


def _verdict(data: PolarsData, is_right: pl.Expr) -> pl.LazyFrame:
    """Return for each row whether it is right; a row with an unknown value in the expression counts as right."""
    verdict: pl.LazyFrame = data.lazyframe.select(is_right.fill_null(True))
    return verdict


class _Orders(_StoreTable):
    order_id: str = pa.Field(unique=True)
    customer_id: str = pa.Field()
    order_status: str = pa.Field(nullable=True, isin=[*ORDER_STATUSES])
    order_purchase_timestamp: datetime = pa.Field()
    order_approved_at: datetime = pa.Field(nullable=True)
    order_delivered_carrier_date: datetime = pa.Field(nullable=True)
    order_delivered_customer_date: datetime = pa.Field(nullable=True)
    order_estimated_delivery_date: datetime = pa.Field(nullable=True)

    @pa.dataframe_check  # type: ignore[untyped-decorator]
    def a_delivered_order_has_a_delivery_date(cls, data: PolarsData) -> pl.LazyFrame:  # noqa: N805
        """Require the date on which its customer got it of each delivered order.

        Olist as Kaggle ships it lacks the date of a few, so that such rows are faults only where they are more than
        `TOLERATED_WITHOUT_DATE` of the delivered ones. A shop that keeps no such dates has none at all.
        """
        delivered, is_null = pl.col("order_status") == "delivered", pl.col("order_delivered_customer_date").is_null()
        is_without = delivered & is_null
        tolerated = is_null.all() | (is_without.sum() <= TOLERATED_WITHOUT_DATE * delivered.sum())
        return _verdict(data, ~is_without | tolerated)

    @pa.dataframe_check  # type: ignore[untyped-decorator]
    def only_what_was_sent_has_a_delivery_date(cls, data: PolarsData) -> pl.LazyFrame:  # noqa: N805
        """Require an order with a delivery date to be delivered, or cancelled afterwards."""
        was_sent = pl.col("order_status").is_in(["delivered", "canceled"])
        return _verdict(data, was_sent | pl.col("order_delivered_customer_date").is_null())

    @pa.dataframe_check  # type: ignore[untyped-decorator]
    def nothing_is_before_the_purchase(cls, data: PolarsData) -> pl.LazyFrame:  # noqa: N805
        """Require approval and delivery of an order to be after its purchase.

        The carrier's date says less: in Olist it lies before the purchase, or after the delivery, of some orders.
        """
        later = pl.min_horizontal("order_approved_at", "order_delivered_customer_date")
        return _verdict(data, later >= pl.col("order_purchase_timestamp"))


class _Items(_StoreTable):
    order_id: str = pa.Field()
    order_item_id: int = pa.Field(ge=1)
    product_id: str = pa.Field()
    seller_id: str = pa.Field()
    shipping_limit_date: datetime = pa.Field(nullable=True)
    price: float = pa.Field(ge=0)
    freight_value: float = pa.Field(nullable=True, ge=0)

    class Config:
        unique = ("order_id", "order_item_id")


class _Payments(_StoreTable):
    order_id: str = pa.Field()
    payment_sequential: int = pa.Field(ge=1)
    payment_type: str = pa.Field(
        nullable=True, isin=["credit_card", "boleto", "pix", "voucher", "debit_card", "not_defined"]
    )
    payment_installments: int = pa.Field(nullable=True, ge=0)
    payment_value: float = pa.Field(ge=0)

    class Config:
        unique = ("order_id", "payment_sequential")


class _Reviews(_StoreTable):
    review_id: str = pa.Field()
    order_id: str = pa.Field()
    review_score: int = pa.Field(in_range={"min_value": 1, "max_value": 5})
    review_comment_title: str = pa.Field(nullable=True)
    review_comment_message: str = pa.Field(nullable=True)
    review_creation_date: datetime = pa.Field(nullable=True)
    review_answer_timestamp: datetime = pa.Field(nullable=True)

    class Config:
        unique = ("review_id", "order_id")

    @pa.dataframe_check  # type: ignore[untyped-decorator]
    def no_answer_is_before_its_question(cls, data: PolarsData) -> pl.LazyFrame:  # noqa: N805
        """Require the answer of a review to be after its form was sent."""
        return _verdict(data, pl.col("review_answer_timestamp") >= pl.col("review_creation_date"))


class _Customers(_StoreTable):
    customer_id: str = pa.Field(unique=True)
    customer_unique_id: str = pa.Field()
    customer_zip_code_prefix: str = pa.Field(nullable=True)
    customer_city: str = pa.Field(nullable=True)
    customer_state: str = pa.Field(nullable=True, isin=STATES)


class _Products(_StoreTable):
    product_id: str = pa.Field(unique=True)
    product_category_name: str = pa.Field(nullable=True)
    product_name_lenght: int = pa.Field(nullable=True, ge=0)
    product_description_lenght: int = pa.Field(nullable=True, ge=0)
    product_photos_qty: int = pa.Field(nullable=True, ge=0)
    product_weight_g: int = pa.Field(nullable=True, ge=0)
    product_length_cm: int = pa.Field(nullable=True, ge=0)
    product_height_cm: int = pa.Field(nullable=True, ge=0)
    product_width_cm: int = pa.Field(nullable=True, ge=0)


class _Sellers(_StoreTable):
    seller_id: str = pa.Field(unique=True)
    seller_zip_code_prefix: str = pa.Field(nullable=True)
    seller_city: str = pa.Field(nullable=True)
    seller_state: str = pa.Field(nullable=True, isin=STATES)


class _CategoryTranslation(_StoreTable):
    product_category_name: str = pa.Field(unique=True)
    product_category_name_english: str = pa.Field(nullable=True)


class _ReviewCauses(_StoreTable):
    review_id: str = pa.Field(unique=True)
    sentiment: str = pa.Field(isin=["positive", "neutral", "negative"])
    sentiment_score: int = pa.Field(in_range={"min_value": 1, "max_value": 5})
    churn_risk: float = pa.Field(in_range={"min_value": 0, "max_value": 1})
    delivery_issue: bool = pa.Field()
    product_issue: bool = pa.Field()
    seller_issue: bool = pa.Field()
    main_complaint: str = pa.Field()
    complaint_category: str = pa.Field(isin=["delivery", "product", "seller", "price", "other", "none"])
    repeat_intent: bool = pa.Field()
    would_recommend: bool = pa.Field()
    complaint_words: Optional[str] = pa.Field(nullable=True)  # noqa: UP045 - pandera reads this as a column that may lack
    """The main complaint as the review's own words tell it; stores that were made before have no such column."""


class _CustomerHazards(_StoreTable):
    customer_unique_id: str = pa.Field(unique=True)
    hazard: float = pa.Field(nullable=True, in_range={"min_value": 0, "max_value": 1})
    churned: bool = pa.Field()


TABLES: Final[dict[str, type[_StoreTable]]] = {
    "orders": _Orders,
    "items": _Items,
    "payments": _Payments,
    "reviews": _Reviews,
    "customers": _Customers,
    "products": _Products,
    "sellers": _Sellers,
    "category_translation": _CategoryTranslation,
    "review_causes": _ReviewCauses,
    "customer_hazards": _CustomerHazards,
}
"""The model of each table, by its name in `schemas.store.store.Store`."""

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
