"""A store as the pipeline knows one: Olist's tables by their names, and for a simulated store its hidden truth."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polars import DataFrame


@dataclass(frozen=True)
class Store:
    """The tables of one store, with the columns that `schemas/store_tables.py` declares.

    Timestamps are `pl.Datetime`; what is missing is null.
    """

    orders: "DataFrame"
    """One row an order: its status, and when it was bought, approved, shipped, delivered and promised."""
    items: "DataFrame"
    """One row an item of an order: product, seller, price and freight."""
    payments: "DataFrame"
    """One row a payment of an order: type, instalments and value."""
    reviews: "DataFrame"
    """One row a review of an order; in Olist a `review_id` may stand for several orders."""
    customers: "DataFrame"
    """One row an order's customer; `customer_unique_id` is the person, `customer_id` the person in one order."""
    products: "DataFrame"
    """One row a product: category, measures and weight."""
    sellers: "DataFrame"
    """One row a seller: where it is."""
    category_translation: "DataFrame"
    """One row a product category: its Portuguese and its English name."""
    review_causes: "DataFrame | None" = None
    """What really happened behind each review of a simulated store; None where nobody knows."""
    customer_hazards: "DataFrame | None" = None
    """How likely each customer of a simulated store was to leave, and who did; None where nobody knows."""
