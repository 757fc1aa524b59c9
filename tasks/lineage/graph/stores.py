"""Customers, orders and reviews of the stores behind prompts, and their relations."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import polars as pl
from polars.exceptions import PolarsError

from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.store.inventory import Inventory

_CUSTOMERS: Final = "store/olist_customers_dataset.csv"
_ORDERS: Final = "store/olist_orders_dataset.csv"
_REVIEWS: Final = "store/olist_order_reviews_dataset.csv"
_COLUMNS: Final = {
    _CUSTOMERS: ("customer_id", "customer_unique_id"),
    _ORDERS: ("order_id", "customer_id"),
    _REVIEWS: ("review_id", "order_id"),
}


@dataclass(frozen=True)
class StoreOrigin:
    """Customer, order or review from which prompts may have been made."""

    kind: str
    """`customer`, `order` or `review`."""
    identifier: str
    """For a customer the customer_unique_id: the person."""

    @property
    def key(self) -> str:
        """Return its key in a graph."""
        return f"{self.kind}:{self.identifier}"

    @property
    def column(self) -> str:
        """Return the column of a prompt table that names it."""
        return f"{self.kind}_id"

    @property
    def node(self) -> Node:
        """Return its node."""
        return Node(self.key, self.kind, f"{self.kind} {self.identifier}", {})


def find_origins(inventory: Inventory, identifier: str) -> tuple[StoreOrigin, ...]:
    """Return the meaning of an identifier in the stores; an order's own customer_id names the person.

    Tables that cannot be read are ignored.
    """
    is_it = pl.any_horizontal(pl.all() == identifier)
    customers = _rows(inventory, _CUSTOMERS, is_it)["customer_unique_id"]
    orders = _rows(inventory, _ORDERS, pl.col("order_id") == identifier)["order_id"]
    reviews = _rows(inventory, _REVIEWS, pl.col("review_id") == identifier)["review_id"]
    named = (("customer", customers), ("order", orders), ("review", reviews))
    return tuple(StoreOrigin(kind, each) for kind, found in named for each in found.unique().sort())


def origin_graph(inventory: Inventory, origins: Iterable[StoreOrigin]) -> Graph:
    """Return people, orders and reviews as nodes: the given ones, their owners, and their parts."""
    wanted = {
        kind: {each.identifier for each in origins if each.kind == kind} for kind in ("customer", "order", "review")
    }
    ordered = _rows(inventory, _CUSTOMERS, pl.col("customer_unique_id").is_in(sorted(wanted["customer"])))
    orders = wanted["order"] | set(
        _rows(inventory, _ORDERS, pl.col("customer_id").is_in(ordered["customer_id"].implode()))["order_id"]
    )
    given = sorted(wanted["review"])
    is_ours = pl.col("review_id").is_in(given) | pl.col("order_id").is_in(sorted(orders))
    reviews = _rows(inventory, _REVIEWS, is_ours)
    of_orders = _rows(inventory, _ORDERS, pl.col("order_id").is_in(sorted(orders | set(reviews["order_id"]))))
    people = dict(
        _rows(inventory, _CUSTOMERS, pl.col("customer_id").is_in(of_orders["customer_id"].implode())).iter_rows()
    )
    found = {StoreOrigin(kind, each) for kind, ids in wanted.items() for each in ids}
    edges: list[Edge] = []
    for order, customer in of_orders.iter_rows():
        found.add(StoreOrigin("order", order))
        if customer in people:
            person = StoreOrigin("customer", people[customer])
            found.add(person)
            edges.append(Edge(person.key, f"order:{order}", "ordered"))
    for review, order in reviews.iter_rows():
        found |= {StoreOrigin("review", review), StoreOrigin("order", order)}
        edges.append(Edge(f"order:{order}", f"review:{review}", "reviewed"))
    nodes = [each.node for each in sorted(found, key=lambda each: each.key)]
    return Graph({node.key: node for node in nodes}, tuple(dict.fromkeys(edges)))


def _rows(inventory: Inventory, name: str, condition: pl.Expr) -> pl.DataFrame:
    """Return the distinct rows of a table, in all stores, that satisfy a condition; equal files are read once."""
    columns = _COLUMNS[name]
    files = {
        record.files[name]: inventory.folder(record.sha256) / name
        for record in inventory.of_kind("prompts")
        if name in record.files
    }
    found = [pl.DataFrame(schema=dict.fromkeys(columns, pl.String))]
    for file in files.values():
        with suppress(OSError, PolarsError):
            # The rest of a row is a shopper's words, and is not read.
            table = pl.read_csv(file, columns=list(columns), infer_schema=False).select(columns)
            found.append(table.filter(condition))
    return pl.concat(found).unique(maintain_order=True)
