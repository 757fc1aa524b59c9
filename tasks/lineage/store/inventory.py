"""Inventory of an artifact store: every readable record, and the unreadable ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from schemas.artifact import ArtifactKind, ArtifactRecord
from tasks.lineage.store.artifacts import CONTENT_FOLDER, ArtifactDamaged, ArtifactStore

SHORT: Final = 12
"""Characters of a digest shown to people."""


@dataclass(frozen=True)
class Inventory:
    """All artifacts of a store, without verifying any."""

    root: Path
    records: Mapping[str, ArtifactRecord]
    """By sha256, the oldest first."""
    unreadable: Mapping[str, tuple[ArtifactKind, str]]
    """Kind of each artifact whose record is lost or damaged, and the reason, by sha256."""

    def folder(self, sha256: str) -> Path:
        """Return the content folder of an artifact that has a record."""
        return self.root / self.records[sha256].kind / sha256 / CONTENT_FOLDER

    def of_kind(self, kind: ArtifactKind) -> list[ArtifactRecord]:
        """Return the records of one kind, the oldest first."""
        return [record for record in self.records.values() if record.kind == kind]


def read_inventory(root: Path) -> Inventory:
    """Read every record of the store in a folder."""
    store = ArtifactStore(root)
    found: list[ArtifactRecord] = []
    unreadable: dict[str, tuple[ArtifactKind, str]] = {}
    for kind in get_args(ArtifactKind):
        for home in sorted((root / kind).glob("*")):
            try:
                found.append(store.record(home.name))
            except ArtifactDamaged as error:
                unreadable[home.name] = (kind, str(error))
    found.sort(key=lambda record: record.created_at)
    return Inventory(root, {record.sha256: record for record in found}, unreadable)


def short(sha256: str) -> str:
    """Return a digest shortened for people."""
    return sha256[:SHORT]
