"""Identifiers in the tables of artifacts, and the walk from a prompt forwards, to what was trained on it.

A prompt does not reach everything made from its dataset: a training prompt reaches what was trained on it, a test
prompt only the evaluation of models, and one in quarantine nothing.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
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


def row_graph(inventory: Inventory, artifacts: Graph, identities: Identities, rows: Sequence[PlacedRow]) -> Graph:
    """Return everything made from some prompts, given all artifacts and model versions."""
    kin = identities.with_kin(rows)
    # What a prompt paraphrases is shown, and what was made of that is not.
    above = {row.parent_id for row in rows if row.parent_id is not None} - {row.prompt_id for row in rows}
    below = [row for row in kin if row.prompt_id not in above]
    made_from = [
        edge
        for row in below
        for edge in artifacts.after.get(row.artifact, ())
        if (record := inventory.records.get(edge.target)) and record.kind in READERS.get(row.place, ())
    ]
    direct = {edge.target for edge in made_from}
    made = artifacts.part(direct | artifacts.led_to(*direct))
    tables = {row.artifact for row in kin}
    inputs = (inventory.records[table].inputs for table in tables)
    holders = artifacts.part(tables | {each["prompts"] for each in inputs if "prompts" in each})
    graph = _prompt_graph(kin).joined(Graph({}, tuple(made_from))).joined(holders).joined(made)
    for policy in inventory.of_kind("policy"):
        if policy.sha256 in made.nodes:
            of_dataset = (row for row in below if row.place == "train" and row.artifact == policy.inputs.get("dataset"))
            graph = graph.joined(_sampled(inventory, policy, {row.prompt_id for row in of_dataset}))
    return graph


def _prompt_graph(rows: Sequence[PlacedRow]) -> Graph:
    """Return prompts with their tables, and the prompts that they paraphrase."""
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []
    for row in rows:
        key = f"prompt:{row.prompt_id}"
        known = {"task": row.task, "source": row.source, "review": row.review_id, "order": row.order_id}
        facts = {name: value for name, value in (known | {"customer": row.customer_id}).items() if value is not None}
        nodes.setdefault(key, Node(key, "prompt", f"prompt {short(row.prompt_id)}", facts))
        if row.parent_id is not None:
            edges.append(Edge(f"prompt:{row.parent_id}", key, "paraphrased"))
        place = "row" if row.place == "prompts" else row.place
        edges.append(Edge(key, row.artifact, place if row.reason is None else f"{place}: {row.reason}"))
    return Graph(nodes, tuple(dict.fromkeys(edges)))


def _sampled(inventory: Inventory, policy: ArtifactRecord, prompt_ids: Collection[str]) -> Graph:
    """Return a training's rollouts of some prompts of its training split, a node a prompt."""
    folder = inventory.folder(policy.sha256)
    logs = [folder / name for name in sorted(policy.files) if is_rollout_log(name)]
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []
    for prompt_id, steps in _rollouts([str(log) for log in logs], prompt_ids):
        # One fact a step.
        facts = {
            f"step {each['step']}": f"{each['len']} rollouts, reward {each['mean']:.3f} "
            f"({each['low']:.3f}-{each['high']:.3f}), {each['trained']} trained on"
            for each in steps.iter_rows(named=True)
        }
        key, name = f"rollouts:{policy.sha256}/{prompt_id}", f"rollouts of prompt {short(prompt_id)}"
        nodes[key] = Node(key, "rollouts", f"{steps['len'].sum()} {name}", facts)
        edges += [Edge(f"prompt:{prompt_id}", key, "sampled"), Edge(key, policy.sha256, "trained")]
    # DPO keeps no rollouts.
    part = "in its training split, never sampled" if logs else "in its training split"
    there = {edge.source for edge in edges}
    keys = [f"prompt:{each}" for each in sorted(prompt_ids)]
    edges += [Edge(key, policy.sha256, part) for key in keys if key not in there]
    return Graph(nodes, tuple(edges))


def _rollouts(logs: Sequence[str], prompt_ids: Collection[str]) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield prompts that a training drew, each with its rollouts' figures by step; none of logs that cannot be read."""
    reward = pl.col("reward")
    figures = {"trained": pl.col("advantage").count(), "mean": reward.mean(), "low": reward.min(), "high": reward.max()}
    with suppress(OSError, PolarsError):
        if logs:
            drawn = pl.scan_parquet(list(logs), glob=False).filter(pl.col("prompt_id").is_in(sorted(prompt_ids)))
            by_step = drawn.group_by("prompt_id", "step").agg(pl.len(), **figures).sort("prompt_id", "step").collect()
            for (prompt_id,), steps in by_step.group_by("prompt_id", maintain_order=True):
                yield str(prompt_id), steps
