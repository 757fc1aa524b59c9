"""Identifiers in the tables of artifacts: prompts and their places, and the people, orders and reviews behind them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, get_args

import polars as pl
from polars.exceptions import PolarsError

from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.tables.prompts import SPLITS
from tasks.lineage.graph.descriptions import PROMPTS_FILE, QUARANTINE_FILE, split_file
from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.store.inventory import Inventory

IdentifierKind = Literal["customer_unique_id", "customer_id", "order_id", "review_id"]
PEOPLE: Final[tuple[IdentifierKind, ...]] = get_args(IdentifierKind)
PROMPTS: Final = ("prompt_id", "parent_id")
SUFFIXES: Final = frozenset({".parquet", ".csv", ".jsonl"})
QUARANTINE: Final = "quarantine"
_DESCRIBING: Final = ("task", "source", "reason")
_PLACES: Final = {
    ("prompts", PROMPTS_FILE): "prompts",
    ("dataset", QUARANTINE_FILE): QUARANTINE,
    **{("dataset", split_file(split)): split for split in SPLITS},
}
"""Place of a prompt's row, by the kind and file of its table."""


@dataclass(frozen=True)
class StoreOrigin:
    """Customer (the customer_unique_id), order or review from which prompts may have been made."""

    kind: str
    identifier: str

    @property
    def key(self) -> str:
        """Return its key in a graph."""
        return f"{self.kind}:{self.identifier}"


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
    def origins(self) -> list[StoreOrigin]:
        """Return its review, its order and its customer, the most specific first."""
        named = {"review": self.review_id, "order": self.order_id, "customer": self.customer_id}
        return [StoreOrigin(kind, identifier) for kind, identifier in named.items() if identifier is not None]


@dataclass(frozen=True)
class IdentifiedTable:
    """Identifiers in the rows of one file of an artifact."""

    record: ArtifactRecord
    file: str
    rows: pl.DataFrame
    """Its columns among `PEOPLE` and `PROMPTS`: text, null if a row has none. Prompts also say what they are of."""

    @property
    def of_prompts(self) -> bool:
        """Return whether the table is of prompts, whose customer_id is a person's and no order's customer."""
        return "prompt_id" in self.rows.columns


class Identities:
    """Identifiers in all tables of the artifacts of some kinds; equal files are read once."""

    def __init__(self, inventory: Inventory, kinds: Collection[ArtifactKind] = get_args(ArtifactKind)) -> None:
        """Read the tables; those that cannot be read are listed apart."""
        read: dict[str, pl.DataFrame] = {}
        self.tables: list[IdentifiedTable] = []
        self.unread: list[tuple[str, Path]] = []
        """The sha256 of the artifact, and the file."""
        for record in inventory.records.values():
            for name, digest in record.files.items() if record.kind in kinds else ():
                path = inventory.folder(record.sha256) / name
                if path.suffix not in SUFFIXES:
                    continue
                try:
                    read[digest] = rows = read[digest] if digest in read else _identifiers(path)
                except (OSError, PolarsError):
                    self.unread.append((record.sha256, path))
                    continue
                if rows.width:
                    self.tables.append(IdentifiedTable(record, name, rows))

    def pairs(self, column: str, other: str) -> pl.DataFrame:
        """Return the distinct pairs of two columns in the shop's own tables; none of a prompt."""
        both = list(dict.fromkeys((column, other)))
        of_shop = {id(each.rows): each.rows for each in self.tables if not each.of_prompts}.values()
        found = [rows.select(both) for rows in of_shop if set(both) <= set(rows.columns)]
        return pl.concat([pl.DataFrame(schema=dict.fromkeys(both, pl.String)), *found]).unique(maintain_order=True)

    def looked_up(self, column: str, values: Collection[str], wanted: str) -> set[str]:
        """Return the values of the column `wanted` in the shop's rows whose `column` has one of the values."""
        found = self.pairs(column, wanted).filter(pl.col(column).is_in(sorted(values)))
        return set(found[wanted].drop_nulls())

    def placed(self, condition: pl.Expr) -> list[PlacedRow]:
        """Return the rows of prompts, in all tables of prompts and datasets, that satisfy a condition."""
        return [PlacedRow(**row) for row in self._placed.filter(condition).iter_rows(named=True)]

    def with_kin(self, rows: Sequence[PlacedRow]) -> list[PlacedRow]:
        """Return rows with those of their paraphrases, and of the prompts that they paraphrase."""
        known = {row.prompt_id for row in rows}
        parents = {row.parent_id for row in rows if row.parent_id is not None}
        related = pl.col("parent_id").is_in(sorted(known)) | pl.col("prompt_id").is_in(sorted(known | parents))
        return list(dict.fromkeys([*rows, *self.placed(related)]))

    def origins(self, identifier: str) -> tuple[StoreOrigin, ...]:
        """Return the meaning of an identifier in the shop's tables; an order's own customer_id names the person."""
        found = {
            "customer": self.looked_up("customer_id", {identifier}, "customer_unique_id")
            | self.looked_up("customer_unique_id", {identifier}, "customer_unique_id"),
            "order": self.looked_up("order_id", {identifier}, "order_id"),
            "review": self.looked_up("review_id", {identifier}, "review_id"),
        }
        return tuple(StoreOrigin(kind, each) for kind, ids in found.items() for each in sorted(ids))

    def origin_graph(self, origins: Iterable[StoreOrigin]) -> Graph:
        """Return people, orders and reviews as nodes: the given ones, their owners, and their parts."""
        found = set(origins)
        people, orders, reviews = (
            {each.identifier for each in found if each.kind == kind} for kind in ("customer", "order", "review")
        )
        customers = self.looked_up("customer_unique_id", people, "customer_id")
        orders |= self.looked_up("customer_id", customers, "order_id")
        is_theirs = pl.col("review_id").is_in(sorted(reviews)) | pl.col("order_id").is_in(sorted(orders))
        reviewed = self.pairs("review_id", "order_id").drop_nulls().filter(is_theirs).rows()
        orders |= {order for _, order in reviewed}
        ordered = self.pairs("order_id", "customer_id").filter(pl.col("order_id").is_in(sorted(orders))).rows()
        owners = dict(self.pairs("customer_id", "customer_unique_id").drop_nulls().iter_rows())
        links = [(StoreOrigin("order", order), StoreOrigin("review", review), "reviewed") for review, order in reviewed]
        links += [
            (StoreOrigin("customer", owners[customer]), StoreOrigin("order", order), "ordered")
            for order, customer in ordered
            if customer in owners
        ]
        found |= {each for source, target, _ in links for each in (source, target)}
        found |= {StoreOrigin("order", order) for order, _ in ordered}
        nodes = {
            each.key: Node(each.key, each.kind, f"{each.kind} {each.identifier}", {})
            for each in sorted(found, key=lambda each: each.key)
        }
        return Graph(nodes, tuple(Edge(source.key, target.key, role) for source, target, role in links))

    def holders(self, origins: Iterable[StoreOrigin]) -> list[Edge]:
        """Return the edges from people, orders and reviews to the prompts artifacts whose shop's tables have them."""
        columns = {"customer": "customer_unique_id", "order": "order_id", "review": "review_id"}
        found = (
            Edge(origin.key, table.record.sha256, "in its store")
            for origin in origins
            for table in self.tables
            if not table.of_prompts
            and (column := columns[origin.kind]) in table.rows.columns
            and origin.identifier in table.rows[column]
        )
        return list(dict.fromkeys(found))

    @cached_property
    def _placed(self) -> pl.DataFrame:
        columns = ("prompt_id", *PEOPLE[1:], "parent_id", *_DESCRIBING, "artifact", "place")
        found = [pl.DataFrame(schema=dict.fromkeys(columns, pl.String))]
        found += [
            table.rows.with_columns(artifact=pl.lit(table.record.sha256), place=pl.lit(place))
            for table in self.tables
            if (place := _PLACES.get((table.record.kind, table.file))) is not None
        ]
        return pl.concat(found, how="diagonal").select(columns)


def _identifiers(path: Path) -> pl.DataFrame:
    if path.suffix == ".jsonl":
        # Only these fields are read; the others may differ from line to line.
        rows = pl.read_ndjson(path, schema=dict.fromkeys((*PEOPLE, *PROMPTS), pl.String))
        return rows.select(column.name for column in rows if column.null_count() < rows.height)
    scanned = pl.scan_csv(path, infer_schema=False) if path.suffix == ".csv" else pl.scan_parquet(path, glob=False)
    names = scanned.collect_schema().names()
    # The rest of a row is a shopper's words, and is not read.
    wanted = {*PEOPLE, *PROMPTS, *(_DESCRIBING if "prompt_id" in names else ())}
    return scanned.select(pl.col([name for name in names if name in wanted]).cast(pl.String)).collect()


def origins_of(rows: Iterable[PlacedRow]) -> list[StoreOrigin]:
    """Return the most specific origin of each prompt: the review, the order or the person."""
    return list(dict.fromkeys(origin for row in rows for origin in row.origins[:1]))
