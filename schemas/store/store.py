"""Store of the shop: Olist's tables by name, and for a simulated store its hidden truth."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polars import DataFrame


@dataclass(frozen=True)
class Store:
    """The tables of one store, with the columns that `schemas/store/tables.py` declares.

    Timestamps are `pl.Datetime`; missing values are null.
    """

    orders: "DataFrame"
    """One row per order: its status, and when it was bought, approved, shipped, delivered and promised."""
    items: "DataFrame"
    """One row per item of an order: product, seller, price and freight."""
    payments: "DataFrame"
    """One row per payment of an order: type, instalments and value."""
    reviews: "DataFrame"
    """One row per review of an order; in Olist a `review_id` may stand for several orders."""
    customers: "DataFrame"
    """One row per order's customer; `customer_unique_id` is the person, `customer_id` the person in one order."""
    products: "DataFrame"
    """One row per product: category, measures and weight."""
    sellers: "DataFrame"
    """One row per seller: its location."""
    category_translation: "DataFrame"
    """One row per product category: its Portuguese and its English name."""
    review_causes: "DataFrame | None" = None
    """The true events behind each review of a simulated store; None where unknown."""
    customer_hazards: "DataFrame | None" = None
    """Each simulated customer's probability of leaving, and whether they left; None where unknown."""
