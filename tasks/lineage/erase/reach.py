"""Propagation of a person's rows through the artifact graph: certain, or possible where data is lost."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from schemas.artifact import ArtifactKind, ArtifactRecord
from tasks.lineage.graph.descriptions import split_file
from tasks.lineage.store.inventory import Inventory, short

TRAIN_FILE: Final = split_file("train")
WARM_START_FILE: Final = "warm_start.json"
LEARNS_BY: Final[Mapping[ArtifactKind, Collection[str]]] = {
    "base": (),
    "policy": ("base",),
    "merged": ("base", "policy"),
    "promotion": ("policy",),
}
"""Input roles through which an artifact learned from the input's data; all roles for other kinds."""
READS: Final[Mapping[ArtifactKind, Collection[str]]] = {
    "base": ("dataset",),
    "policy": ("dataset", "base"),
    "merged": ("base", "policy"),
    "promotion": ("policy",),
}
"""Input roles whose rows an artifact may hold or have learned from; all roles for other kinds."""


def learned_from(records: Collection[ArtifactRecord], rows: Mapping[tuple[str, str], int]) -> set[str]:
    """Return the artifacts whose weights learned from some rows, and those with answers of such weights.

    Args:
        records: All artifacts.
        rows: Number of the rows in each table, by its artifact's sha256 and its file.
    """
    return spread_of_learning(taught(records, rows), records)


def spread_of_learning(start: Iterable[str], records: Iterable[ArtifactRecord]) -> set[str]:
    """Return some artifacts that learned, with those that learned from them or answer with such weights."""
    return _spread(start, records, LEARNS_BY)


def possibly_reached(records: Iterable[ArtifactRecord], doubts: Iterable[str]) -> set[str]:
    """Return the artifacts that cannot be searched, and all that may hold or have learned their content.

    Args:
        records: All artifacts.
        doubts: The keys of `doubts_of`.
    """
    readers = [record for record in records if record.kind != "base" or WARM_START_FILE in record.files]
    return _spread(doubts, readers, READS)


def doubts_of(inventory: Inventory, unread_files: Iterable[tuple[str, Path]]) -> dict[str, str]:
    """Return a sentence for each artifact that cannot be searched: lost, damaged, or with an unread file."""
    so = "so nobody is looked for in it, and what was made of its rows counts as possibly reached"
    doubts = {
        sha256: f"{kind} {short(sha256)} cannot be read ({why}), {so}"
        for sha256, (kind, why) in inventory.unreadable.items()
    }
    for sha256, path in unread_files:
        doubts[sha256] = (
            f"{doubts[sha256]}; so it is with {path}" if sha256 in doubts else f"{path} cannot be read, {so}"
        )
    for record in inventory.records.values():
        for role, sha256 in record.inputs.items():
            if sha256 not in inventory.records and sha256 not in doubts:
                doubts[sha256] = (
                    f"the store has the {role} {short(sha256)} of {record.kind} {short(record.sha256)} no more, {so}"
                )
    return doubts


def taught(records: Iterable[ArtifactRecord], rows: Mapping[tuple[str, str], int]) -> Iterator[str]:
    """Yield the artifacts whose weights learned directly from rows; arguments as of `learned_from`."""
    for record in records:
        in_training = rows.get((record.inputs.get("dataset", ""), TRAIN_FILE), 0) > 0
        if record.kind == "base" and in_training and WARM_START_FILE in record.files:
            yield record.sha256
        elif record.kind == "policy":
            # Every rollout is logged, so a row that was never drawn taught nothing.
            rollouts = [name for name in record.files if name.endswith(".parquet")]
            if any((record.sha256, name) in rows for name in rollouts) or (in_training and not rollouts):
                yield record.sha256


def _spread(
    start: Iterable[str], records: Iterable[ArtifactRecord], roles: Mapping[ArtifactKind, Collection[str]]
) -> set[str]:
    """Return some artifacts with all derived from them, by the relevant roles of each kind.

    Creation times are ignored: an artifact made again, or on another machine, is newer than its derivatives.
    """
    found = set(start)
    inputs = {
        record.sha256: {
            sha256 for role, sha256 in record.inputs.items() if role in roles.get(record.kind, record.inputs)
        }
        for record in records
    }
    while more := {sha256 for sha256, sources in inputs.items() if not found.isdisjoint(sources)} - found:
        found |= more
    return found
