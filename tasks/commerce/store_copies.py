"""The two stores that generated SQL is judged on: a part of the given one, and that part filled in another way.

A query that leaves out a filter or a join can be right by luck on one store; it is wrong on a store whose values
follow no habit of the first.
"""

import hashlib
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from schemas.store import Store

if TYPE_CHECKING:
    from polars import DataFrame

MAX_ORDERS: Final = 1_500
"""Orders of the part that queries run on, so that a query takes as long on a large store as on a small one: a reference
query takes a fifth of a millisecond, and most combinations of a category and a state still have rows."""
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


def cut(store: Store) -> Store:
    """Return the part of a store that queries are judged on: at most `MAX_ORDERS` orders and what belongs to them.

    Whole shoppers are kept, by the hash of their identifier, so that who buys again still does; the last one kept may
    lose orders. The same store gives the same part, and the part of a part is the part.
    """
    import polars as pl

    if store.orders.height <= MAX_ORDERS:
        return store
    people = dict(store.customers.select("customer_id", "customer_unique_id").iter_rows())
    orders = store.orders.select("order_id", "customer_id").iter_rows()
    ranked = sorted((_hash(people.get(customer, customer)), order) for order, customer in orders)
    order_ids = [order for _, order in ranked[:MAX_ORDERS]]
    orders_kept, items = _of_orders(store.orders, order_ids), _of_orders(store.items, order_ids)
    return replace(
        store,
        orders=orders_kept,
        items=items,
        payments=_of_orders(store.payments, order_ids),
        reviews=_of_orders(store.reviews, order_ids),
        customers=store.customers.filter(pl.col("customer_id").is_in(orders_kept["customer_id"].to_list())),
        products=store.products.filter(pl.col("product_id").is_in(items["product_id"].to_list())),
        sellers=store.sellers.filter(pl.col("seller_id").is_in(items["seller_id"].to_list())),
    )


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


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def _of_orders(frame: "DataFrame", order_ids: list[str]) -> "DataFrame":
    import polars as pl

    return frame.filter(pl.col("order_id").is_in(order_ids)) if "order_id" in frame.columns else frame


def _shuffle(frame: "DataFrame", columns: tuple[str, ...], generator: random.Random) -> "DataFrame":
    return frame.with_columns(
        frame[column].sample(fraction=1, shuffle=True, seed=generator.randrange(2**32)) for column in columns
    )
