"""Rows of prompts and datasets, and the customers, orders and reviews of the stores behind them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl
from polars.exceptions import PolarsError

from schemas.artifact import ArtifactRecord
from schemas.tables.prompts import SPLITS
from tasks.lineage.graph.descriptions import PROMPTS_FILE, QUARANTINE_FILE, split_file
from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.store.inventory import Inventory

PROMPTS: Final = "prompts"
QUARANTINE: Final = "quarantine"
_ROW_COLUMNS: Final = ("prompt_id", "task", "source", "customer_id", "order_id", "review_id", "parent_id")
_CUSTOMERS: Final = "store/olist_customers_dataset.csv"
_ORDERS: Final = "store/olist_orders_dataset.csv"
_REVIEWS: Final = "store/olist_order_reviews_dataset.csv"
_COLUMNS: Final = {
    _CUSTOMERS: ("customer_id", "customer_unique_id"),
    _ORDERS: ("order_id", "customer_id"),
    _REVIEWS: ("review_id", "order_id"),
}
_STORE_COLUMNS: Final = {"customer": "customer_unique_id", "order": "order_id", "review": "review_id"}
"""Column of a store's tables that names an origin, by its kind."""


@dataclass(frozen=True)
class PlacedRow:
    """Row of a prompt in one table of one artifact."""

    prompt_id: str
    task: str | None
    source: str | None
    customer_id: str | None
    order_id: str | None
    review_id: str | None
    parent_id: str | None
    reason: str | None
    """Reason of the quarantine; None elsewhere."""
    artifact: str
    place: str
    """`prompts`, the name of a split, or `quarantine`."""

    @property
    def origins(self) -> "list[StoreOrigin]":
        """Return its review, its order and its customer, the most specific first."""
        named = {"review": self.review_id, "order": self.order_id, "customer": self.customer_id}
        return [StoreOrigin(kind, identifier) for kind, identifier in named.items() if identifier is not None]


@dataclass(frozen=True)
class StoreOrigin:
    """Customer (the customer_unique_id), order or review from which prompts may have been made."""

    kind: str
    identifier: str

    @property
    def key(self) -> str:
        """Return its key in a graph."""
        return f"{self.kind}:{self.identifier}"


def find_rows(inventory: Inventory, condition: pl.Expr) -> list[PlacedRow]:
    """Return the rows, in all prompt tables of the store, that satisfy a condition on their columns.

    A table that cannot be read has none; its artifact's node reports it.
    """
    tables = list(_tables(inventory))
    queries = [
        pl.scan_parquet(path, glob=False)
        .filter(condition)
        .select(*_ROW_COLUMNS, "reason" if place == QUARANTINE else pl.lit(None, pl.String).alias("reason"))
        for _, place, path in tables
    ]
    return [
        PlacedRow(**row, artifact=record.sha256, place=place)
        for (record, place, _), rows in zip(tables, _collected(queries), strict=True)
        for row in rows.iter_rows(named=True)
    ]


def _tables(inventory: Inventory) -> Iterator[tuple[ArtifactRecord, str, Path]]:
    for record in inventory.of_kind("prompts"):
        yield record, PROMPTS, inventory.folder(record.sha256) / PROMPTS_FILE
    for record in inventory.of_kind("dataset"):
        folder = inventory.folder(record.sha256)
        for split in SPLITS:
            yield record, split, folder / split_file(split)
        yield record, QUARANTINE, folder / QUARANTINE_FILE


def _collected(queries: Sequence[pl.LazyFrame]) -> Iterator[pl.DataFrame]:
    """Collect all at once, or one by one if a file cannot be read."""
    try:
        yield from pl.collect_all(queries)
    except (OSError, PolarsError):
        for query in queries:
            try:
                yield query.collect()
            except (OSError, PolarsError):
                yield pl.DataFrame()


def with_kin(inventory: Inventory, rows: Sequence[PlacedRow]) -> list[PlacedRow]:
    """Return rows with those of their paraphrases, and of the prompts that they paraphrase."""
    known = {row.prompt_id for row in rows}
    parents = {row.parent_id for row in rows if row.parent_id is not None}
    related = pl.col("parent_id").is_in(sorted(known)) | pl.col("prompt_id").is_in(sorted(known | parents))
    return list(dict.fromkeys([*rows, *find_rows(inventory, related)]))


def origins_of(rows: Iterable[PlacedRow]) -> list[StoreOrigin]:
    """Return the most specific origin of each prompt: the review, the order or the person."""
    return list(dict.fromkeys(origin for row in rows for origin in row.origins[:1]))


def find_origins(inventory: Inventory, identifier: str) -> tuple[StoreOrigin, ...]:
    """Return the meaning of an identifier in the stores; an order's own customer_id names the person."""
    is_it = pl.any_horizontal(pl.all() == identifier)
    customers = _rows(inventory, _CUSTOMERS, is_it)["customer_unique_id"]
    orders = _rows(inventory, _ORDERS, pl.col("order_id") == identifier)["order_id"]
    reviews = _rows(inventory, _REVIEWS, pl.col("review_id") == identifier)["review_id"]
    named = (("customer", customers), ("order", orders), ("review", reviews))
    return tuple(StoreOrigin(kind, each) for kind, found in named for each in found.unique().sort())


def origin_graph(inventory: Inventory, origins: Iterable[StoreOrigin]) -> Graph:
    """Return people, orders and reviews as nodes: the given ones, their owners, and their parts."""
    found = set(origins)
    people, orders, reviews = (
        sorted(each.identifier for each in found if each.kind == kind) for kind in ("customer", "order", "review")
    )
    ordered = _rows(inventory, _CUSTOMERS, pl.col("customer_unique_id").is_in(people))["customer_id"]
    orders += _rows(inventory, _ORDERS, pl.col("customer_id").is_in(ordered.implode()))["order_id"].to_list()
    is_ours = pl.col("review_id").is_in(reviews) | pl.col("order_id").is_in(orders)
    of_reviews = _rows(inventory, _REVIEWS, is_ours)
    of_orders = _rows(inventory, _ORDERS, pl.col("order_id").is_in([*orders, *of_reviews["order_id"]]))
    owners = dict(
        _rows(inventory, _CUSTOMERS, pl.col("customer_id").is_in(of_orders["customer_id"].implode())).iter_rows()
    )
    edges: list[Edge] = []
    for order, customer in of_orders.iter_rows():
        found.add(StoreOrigin("order", order))
        if customer in owners:
            person = StoreOrigin("customer", owners[customer])
            found.add(person)
            edges.append(Edge(person.key, f"order:{order}", "ordered"))
    for review, order in of_reviews.iter_rows():
        found |= {StoreOrigin("review", review), StoreOrigin("order", order)}
        edges.append(Edge(f"order:{order}", f"review:{review}", "reviewed"))
    nodes = {
        each.key: Node(each.key, each.kind, f"{each.kind} {each.identifier}", {})
        for each in sorted(found, key=lambda each: each.key)
    }
    return Graph(nodes, tuple(dict.fromkeys(edges)))


def _rows(inventory: Inventory, name: str, condition: pl.Expr) -> pl.DataFrame:
    """Return the distinct rows of a table, in all stores that can be read, that satisfy a condition."""
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


def store_graph(inventory: Inventory, artifacts: Graph, origins: Sequence[StoreOrigin]) -> Graph:
    """Return the prompts artifacts whose stores contain some reviews, orders or customers."""
    named: dict[str, list[StoreOrigin]] = {}
    edges: dict[Edge, None] = {}
    for record in inventory.of_kind("prompts"):
        for name, digest in record.files.items():
            if name.startswith("store/") and name.endswith(".csv"):
                if digest not in named:
                    named[digest] = _named_in(inventory.folder(record.sha256) / name, origins)
                edges |= {Edge(origin.key, record.sha256, "in its store"): None for origin in named[digest]}
    return Graph({}, tuple(edges)).joined(artifacts.part(edge.target for edge in edges))


def _named_in(path: Path, origins: Sequence[StoreOrigin]) -> list[StoreOrigin]:
    """Return the origins that a store's table names; none if it cannot be read."""
    try:
        table = pl.scan_csv(path, infer_schema=False)
        there = set(table.collect_schema().names())
        return [
            origin
            for origin in origins
            if (column := _STORE_COLUMNS[origin.kind]) in there
            and origin.identifier in table.select(column).collect()[column]
        ]
    except (OSError, PolarsError):
        return []
