"""Store of the shop: Olist's tables by name, with a simulated store's hidden truth, its files, and a person's rows."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemas.errors import InputError

if TYPE_CHECKING:
    from polars import DataFrame, Expr

FILE_NAMES: Final = {
    "orders": "olist_orders_dataset.csv",
    "items": "olist_order_items_dataset.csv",
    "payments": "olist_order_payments_dataset.csv",
    "reviews": "olist_order_reviews_dataset.csv",
    "customers": "olist_customers_dataset.csv",
    "products": "olist_products_dataset.csv",
    "sellers": "olist_sellers_dataset.csv",
    "category_translation": "product_category_name_translation.csv",
    "review_causes": "review_causes.csv",
    "customer_hazards": "customer_hazards.csv",
}
HIDDEN_TABLES: Final = ("review_causes", "customer_hazards")


@dataclass(frozen=True)
class Store:
    """The tables of one store, with the columns that `schemas/store/tables.py` declares; missing values are null."""

    orders: "DataFrame"
    """One row per order: its status, and when it was bought, approved, shipped, delivered and promised."""
    items: "DataFrame"
    """One row per item of an order: product, seller, price and freight."""
    payments: "DataFrame"
    reviews: "DataFrame"
    """One row per review of an order; in Olist a `review_id` may stand for several orders."""
    customers: "DataFrame"
    """One row per order's customer; `customer_unique_id` is the person, `customer_id` the person in one order."""
    products: "DataFrame"
    sellers: "DataFrame"
    category_translation: "DataFrame"
    """One row per product category: its Portuguese and its English name."""
    review_causes: "DataFrame | None" = None
    """The true events behind each review of a simulated store; None where unknown."""
    customer_hazards: "DataFrame | None" = None
    """Each simulated customer's probability of leaving, and whether they left; None where unknown."""


def require_tables(folder: Path) -> set[str]:
    """Return the names in a store's folder, once every table has a file in it that is not empty; none is read."""
    try:
        sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    except OSError as error:
        raise InputError(
            f"store folder {folder} cannot be read ({error.strerror}); give the folder of Olist's CSV files"
        ) from None
    needed = [name for table, name in FILE_NAMES.items() if table not in HIDDEN_TABLES]
    if missing := [name for name in needed if name not in sizes]:
        raise InputError(
            f"store folder {folder} lacks {', '.join(missing)}; put Olist's CSV files there by these names"
        )
    if empty := [name for name in needed if not sizes[name]]:
        raise InputError(f"{folder / empty[0]} is empty; export it again")
    return set(sizes)


@dataclass(frozen=True)
class Person:
    """A person, or the part of one that was asked for: identifiers by the columns that hold them."""

    people: frozenset[str]
    """Each `customer_unique_id`; prompts have it in the column `customer_id`."""
    orders: frozenset[str]
    reviews: frozenset[str]
    prompts: frozenset[str]
    """The `prompt_id` of each prompt that was made of them, before and after scrubbing, with its paraphrases."""
    customers: frozenset[str] = frozenset()
    """Each `customer_id` of the shop's tables, which may be the `customer_unique_id` of somebody else."""

    def columns(self) -> dict[str, frozenset[str]]:
        """Return the identifiers by the columns of the shop's tables that hold them."""
        return {
            "customer_unique_id": self.people,
            "customer_id": self.customers,
            "order_id": self.orders,
            "review_id": self.reviews,
            "prompt_id": self.prompts,
            "parent_id": self.prompts,
        }

    def theirs(self, columns: Collection[str]) -> "Expr":
        """Return the expression that is true of their rows, in a table with some columns."""
        import polars as pl

        of_table = self.columns() | ({"customer_id": self.people} if "prompt_id" in columns else {})
        named = ((name, sorted(values)) for name, values in of_table.items() if name in columns and values)
        known = [pl.col(name).is_in(values).fill_null(False) for name, values in named]
        return pl.any_horizontal(known) if known else pl.lit(False)
