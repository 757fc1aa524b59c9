"""A second filling of a store, of the same form and with other contents.

A query that leaves out a filter or a join can be right by luck on one store; it is wrong on a store whose values
follow no habit of the first.
"""

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from schemas.store import Store

if TYPE_CHECKING:
    from polars import DataFrame

SEED: Final = 20_180_901
SHARE_OF_ORDERS: Final = 0.6
SHUFFLED: Final = {
    "orders": ("order_status", "order_delivered_customer_date", "order_estimated_delivery_date"),
    "items": ("price", "freight_value", "seller_id"),
    "payments": ("payment_type", "payment_installments", "payment_value"),
    "reviews": ("review_score",),
    "customers": ("customer_state", "customer_city"),
    "products": ("product_category_name", "product_weight_g", "product_photos_qty"),
    "sellers": ("seller_state", "seller_city"),
}
"""Columns whose values change places among the rows of their table, each by itself."""


def refill(store: Store) -> Store:
    """Return a store with part of the orders, and with values that have changed places.

    The same store gives the same copy, so that a score does not depend on when it is made.
    """
    generator = random.Random(SEED)
    order_ids = sorted(store.orders["order_id"].to_list())
    kept = generator.sample(order_ids, max(1, round(SHARE_OF_ORDERS * len(order_ids))))
    tables = {
        name: _shuffle(_of_orders(getattr(store, name), kept), columns, generator) for name, columns in SHUFFLED.items()
    }
    return replace(store, **tables)


def _of_orders(frame: "DataFrame", order_ids: list[str]) -> "DataFrame":
    import polars as pl

    return frame.filter(pl.col("order_id").is_in(order_ids)) if "order_id" in frame.columns else frame


def _shuffle(frame: "DataFrame", columns: tuple[str, ...], generator: random.Random) -> "DataFrame":
    return frame.with_columns(
        frame[column].sample(fraction=1, shuffle=True, seed=generator.randrange(2**32)) for column in columns
    )
