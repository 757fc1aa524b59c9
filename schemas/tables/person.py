"""A person's rows: the identifiers that find them in every table of a pipeline."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


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

    def theirs(self, columns: Collection[str]) -> "pl.Expr":
        """Return the expression that is true of their rows, in a table with some columns."""
        import polars as pl

        of_table = self.columns() | ({"customer_id": self.people} if "prompt_id" in columns else {})
        named = ((name, sorted(values)) for name, values in of_table.items() if name in columns and values)
        known = [pl.col(name).is_in(values).fill_null(False) for name, values in named]
        return pl.any_horizontal(known) if known else pl.lit(False)
