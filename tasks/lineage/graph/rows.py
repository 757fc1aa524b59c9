"""Identifiers in the tables of artifacts, and the walk from a prompt forwards, to what was trained on it.

A prompt does not reach everything made from its dataset: a training prompt reaches what was trained on it, a test
prompt only the evaluation of models, and one in quarantine nothing.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, get_args

import polars as pl
from polars.exceptions import PolarsError

from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.tables.prompts import SPLITS
from tasks.lineage.graph.descriptions import PROMPTS_FILE, QUARANTINE_FILE, is_rollout_log, split_file
from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.store.inventory import Inventory, short

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
READERS: Final[Mapping[str, tuple[ArtifactKind, ...]]] = {
    "train": ("base", "policy", "search"),
    "validation": ("policy", "merged", "promotion", "search"),
    "test": ("answers", "evaluation"),
}
"""Kinds of artifacts made from the rows of a split."""


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

    def placed(self, condition: pl.Expr) -> pl.DataFrame:
        """Return the rows of prompts, in all tables of prompts and datasets, that satisfy a condition.

        `artifact` is the table's, and `place` is `prompts`, the name of a split, or `quarantine`, with its `reason`.
        """
        return self._placed.filter(condition)

    def with_kin(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows with those of their paraphrases, and of the prompts that they paraphrase."""
        known = set(rows["prompt_id"])
        above = known | set(rows["parent_id"].drop_nulls())
        related = pl.col("parent_id").is_in(sorted(known)) | pl.col("prompt_id").is_in(sorted(above))
        return pl.concat([rows, self.placed(related)]).unique(maintain_order=True)

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


def row_graph(inventory: Inventory, artifacts: Graph, identities: Identities, rows: pl.DataFrame) -> Graph:
    """Return everything made from some prompts, given all artifacts and model versions."""
    kin = identities.with_kin(rows)
    # What a prompt paraphrases is shown, and what was made of that is not.
    above = set(rows["parent_id"].drop_nulls()) - set(rows["prompt_id"])
    below = kin.filter(~pl.col("prompt_id").is_in(sorted(above)))
    made_from = [
        edge
        for artifact, place in below.select("artifact", "place").iter_rows()
        for edge in artifacts.after.get(artifact, ())
        if (record := inventory.records.get(edge.target)) and record.kind in READERS.get(place, ())
    ]
    direct = {edge.target for edge in made_from}
    made = artifacts.part(direct | artifacts.led_to(*direct))
    tables = set(kin["artifact"])
    inputs = (inventory.records[table].inputs for table in tables)
    holders = artifacts.part(tables | {each["prompts"] for each in inputs if "prompts" in each})
    graph = _prompt_graph(kin).joined(Graph({}, tuple(made_from))).joined(holders).joined(made)
    for policy in inventory.of_kind("policy"):
        if policy.sha256 in made.nodes:
            of_dataset = below.filter(place="train", artifact=policy.inputs.get("dataset"))
            graph = graph.joined(Graph({}, tuple(_sampled(inventory, policy, set(of_dataset["prompt_id"])))))
    return graph


def _prompt_graph(rows: pl.DataFrame) -> Graph:
    """Return prompts with their tables, and the prompts that they paraphrase."""
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []
    for row in rows.iter_rows(named=True):
        key = f"prompt:{row['prompt_id']}"
        columns = {"task": "task", "source": "source", "review": "review_id", "order": "order_id"}
        facts = {name: row[column] for name, column in (columns | {"customer": "customer_id"}).items() if row[column]}
        nodes.setdefault(key, Node(key, "prompt", f"prompt {short(row['prompt_id'])}", facts))
        if row["parent_id"] is not None:
            edges.append(Edge(f"prompt:{row['parent_id']}", key, "paraphrased"))
        place = "row" if row["place"] == "prompts" else row["place"]
        edges.append(Edge(key, row["artifact"], place if row["reason"] is None else f"{place}: {row['reason']}"))
    return Graph(nodes, tuple(dict.fromkeys(edges)))


def _sampled(inventory: Inventory, policy: ArtifactRecord, prompt_ids: Collection[str]) -> Iterator[Edge]:
    """Yield what a training did with some prompts of its training split; DPO logs no rollouts."""
    folder = inventory.folder(policy.sha256)
    logs = [folder / name for name in sorted(policy.files) if is_rollout_log(name)]
    wanted, drawn = sorted(prompt_ids), set[str]()
    with suppress(OSError, PolarsError):
        if logs:
            of_these = pl.scan_parquet(logs, glob=False).filter(pl.col("prompt_id").is_in(wanted))
            drawn.update(of_these.select("prompt_id").unique().collect()["prompt_id"])
    never = "in its training split, never sampled" if logs else "in its training split"
    for prompt_id in wanted:
        yield Edge(f"prompt:{prompt_id}", policy.sha256, "sampled" if prompt_id in drawn else never)
