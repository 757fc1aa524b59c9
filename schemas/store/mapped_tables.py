"""Columns of a store's tables that a shop's own files may fill, and those that each task's prompts are made from."""

from collections.abc import Mapping
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
CANCELED_DATE: Final = "order_canceled_date"
"""Column of `orders` that no store has: an order with a date in it was canceled, whatever its status says."""
OTHER_STATUSES: Final = ("sale_status", "payment_status")
"""Columns of `orders` that no store has: a status of its own, with the values of `order_status`, that only counts where
it says that the order was canceled; `order_status` is then that of the delivery."""
REFUNDED: Final = "refunded_value"
"""Column of `payments` that no store has: what was paid back, with a minus or without, is taken off what was paid."""
TELL_CANCELED: Final = ("order_status", CANCELED_DATE, *OTHER_STATUSES, REFUNDED)
"""Columns without which sales count that were none."""


NEEDED: Final[Mapping[TableName, tuple[str, ...]]] = {
    "orders": ("order_id", "order_purchase_timestamp"),
    "items": ("order_id", "product_id", "price"),
    "payments": ("order_id", "payment_value"),
    "reviews": ("order_id", "review_score"),
    "customers": ("customer_id",),
    "products": ("product_id",),
    "sellers": ("seller_id",),
    "category_translation": ("product_category_name",),
    "review_causes": ("review_id", *ExtractionFields.model_fields),
    "customer_hazards": ("customer_unique_id", "churned"),
}
"""Columns without which there is no table; the others stay empty, or follow from these (docs/your-data.md)."""
_OF_NO_STORE: Final[Mapping[str, tuple[str, ...]]] = {
    "orders": (CANCELED_DATE, *OTHER_STATUSES),
    "items": (QUANTITY,),
    "payments": (REFUNDED,),
}


def mapped_columns(table: TableName) -> tuple[str, ...]:
    """Return all columns of a table that files may fill."""
    # polars takes a quarter of a second to load.
    from schemas.store.tables import TABLES

    return (*TABLES[table].columns, *_OF_NO_STORE.get(table, ()))


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
