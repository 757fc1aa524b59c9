"""Inventory of an artifact store, every readable record and the unreadable ones, and its verification."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, cast, get_args

from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.progress import Progress
from tasks.lineage.store.artifacts import CONTENT_FOLDER, RECORD_FILE, ArtifactDamaged, ArtifactStore, Damage

SHORT: Final = 12
"""Characters of a digest shown to people."""


@dataclass(frozen=True)
class Inventory:
    """All artifacts of a store by sha256, without verifying any."""

    root: Path
    records: Mapping[str, ArtifactRecord]
    """The oldest first."""
    unreadable: Mapping[str, tuple[ArtifactKind, str]]
    """Kind of each artifact whose record is lost or damaged, and the reason."""

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


@dataclass(frozen=True)
class ArtifactFault:
    """Deviation of an artifact from its record."""

    sha256: str
    kind: ArtifactKind | None
    file: str | None
    """Its path in the artifact; None for the artifact as a whole."""
    what: Damage | Literal["no record", "damaged record"]


def verify(store: ArtifactStore, sha256s: Sequence[str], progress: Progress) -> tuple[ArtifactFault, ...]:
    """Hash every file of some artifacts and return all deviations from their records, in artifact order."""
    findings: list[ArtifactFault] = []
    for done, sha256 in enumerate(sha256s, start=1):
        findings += _faults(store, sha256)
        progress(done, len(sha256s), "artifacts hashed")
    return tuple(findings)


def _faults(store: ArtifactStore, sha256: str) -> Iterator[ArtifactFault]:
    try:
        home = store.path(sha256).parent
    except ArtifactDamaged:
        yield ArtifactFault(sha256, None, None, "missing")
        return
    kind = cast("ArtifactKind", home.parent.name)
    try:
        for name, damage in store.damages(sha256):
            yield ArtifactFault(sha256, kind, name, damage)
    except ArtifactDamaged:
        is_there = (home / RECORD_FILE).exists()
        yield ArtifactFault(sha256, kind, None, "damaged record" if is_there else "no record")
