"""Columns of a store's tables that a shop's own files may fill, and those that each task's prompts are made from.

Without pandera, which takes a second to load: a test holds the names against `schemas.store.tables`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from schemas.references import ExtractionFields
from schemas.tasks import TaskName

TableName = Literal[
    "orders",
    "items",
    "payments",
    "reviews",
    "customers",
    "products",
    "sellers",
    "category_translation",
    "review_causes",
    "customer_hazards",
]
TABLE_NAMES: Final[tuple[TableName, ...]] = get_args(TableName)
QUANTITY: Final = "quantity"
"""Column of `items` that no store has: Olist has a row a piece, and a shop's line of three pieces becomes three."""

CANCELED: Final = "canceled"
ORDER_STATUSES: Final = (
    *("created", "approved", "invoiced", "processing", "shipped", "delivered", "unavailable"),
    CANCELED,
)
"""Values of an order's status, as Olist has them."""
CANCELED_DATE: Final = "order_canceled_date"
"""Column of `orders` that no store has: an order with a date in it was canceled, whatever its status says."""
OTHER_STATUSES: Final = ("sale_status", "payment_status")
"""Columns of `orders` that no store has: a status of its own, with the values of `order_status`, that only counts where
it says that the order was canceled; `order_status` is then that of the delivery."""
REFUNDED: Final = "refunded_value"
"""Column of `payments` that no store has: what was paid back, with a minus or without, is taken off what was paid."""
TELL_CANCELED: Final = ("order_status", CANCELED_DATE, *OTHER_STATUSES, REFUNDED)
"""Columns without which sales count that were none."""


@dataclass(frozen=True)
class MappedTable:
    """Columns of one table."""

    needed: tuple[str, ...]
    """Columns without which there is no table."""
    optional: tuple[str, ...] = ()
    """Columns that stay empty where a shop has none, or follow from others (docs/your-data.md)."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of all columns."""
        return self.needed + self.optional


MAPPED_TABLES: Final[Mapping[TableName, MappedTable]] = {
    "orders": MappedTable(
        ("order_id", "order_purchase_timestamp"),
        (
            "customer_id",
            "order_status",
            "order_approved_at",
            "order_delivered_carrier_date",
            "order_delivered_customer_date",
            "order_estimated_delivery_date",
            CANCELED_DATE,
            *OTHER_STATUSES,
        ),
    ),
    "items": MappedTable(
        ("order_id", "product_id", "price"),
        ("order_item_id", "seller_id", "shipping_limit_date", "freight_value", QUANTITY),
    ),
    "payments": MappedTable(
        ("order_id", "payment_value"), ("payment_sequential", "payment_type", "payment_installments", REFUNDED)
    ),
    "reviews": MappedTable(
        ("order_id", "review_score"),
        (
            "review_id",
            "review_comment_title",
            "review_comment_message",
            "review_creation_date",
            "review_answer_timestamp",
        ),
    ),
    "customers": MappedTable(
        ("customer_id",), ("customer_unique_id", "customer_zip_code_prefix", "customer_city", "customer_state")
    ),
    "products": MappedTable(
        ("product_id",),
        (
            "product_category_name",
            "product_name_lenght",
            "product_description_lenght",
            "product_photos_qty",
            "product_weight_g",
            "product_length_cm",
            "product_height_cm",
            "product_width_cm",
        ),
    ),
    "sellers": MappedTable(("seller_id",), ("seller_zip_code_prefix", "seller_city", "seller_state")),
    "category_translation": MappedTable(("product_category_name",), ("product_category_name_english",)),
    "review_causes": MappedTable(("review_id", *ExtractionFields.model_fields), ("complaint_words",)),
    "customer_hazards": MappedTable(("customer_unique_id", "churned"), ("hazard",)),
}
"""The columns of each table, by its name in `schemas.store.store.Store`."""

_REVIEWS: Final[Mapping[TableName, tuple[str, ...]]] = {
    "orders": ("order_id",),
    "reviews": ("review_score", "review_comment_message"),
}
_DELIVERIES: Final = (
    "order_purchase_timestamp",
    "order_delivered_customer_date",
    "order_estimated_delivery_date",
)
NEEDED_BY_TASK: Final[Mapping[TaskName, Mapping[TableName, tuple[str, ...]]]] = {
    "extraction": _REVIEWS,
    "sql_qa": {"orders": ("order_id",), "items": ("price",)},
    "insights": {"orders": ("order_purchase_timestamp",), "items": ("price",)},
    "push": {"orders": ("order_id",), "items": ("product_id",), "products": ("product_category_name",)},
    "sentiment": _REVIEWS,
    "churn": {
        "orders": _DELIVERIES,
        "items": ("price",),
        "customers": ("customer_unique_id", "customer_state"),
        "customer_hazards": ("churned",),
    },
}
"""Tables and columns that the prompts of a task are made from; a row of `[[prompts]]` needs none of them."""
