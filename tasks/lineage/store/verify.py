"""Verification of artifacts: every file is hashed again and compared with its record, and all faults are reported."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from schemas.artifact import ArtifactKind
from schemas.progress import Progress
from tasks.lineage.store.artifacts import RECORD_FILE, ArtifactDamaged, ArtifactStore, Damage

Fault = Damage | Literal["no record", "damaged record"]


@dataclass(frozen=True)
class ArtifactFault:
    """Fault of an artifact."""

    sha256: str
    """The artifact."""
    kind: ArtifactKind | None
    """Its kind; None if the store has nothing of it."""
    file: str | None
    """The file, by its path in the artifact; None for the artifact as a whole."""
    what: Fault
    """Kind of fault."""


def verify(store: ArtifactStore, sha256s: Sequence[str], progress: Progress) -> tuple[ArtifactFault, ...]:
    """Hash every file of some artifacts and return all deviations from their records, in artifact order.

    Args:
        store: The artifact store.
        sha256s: The artifacts.
        progress: Called for each artifact.
    """
    findings: list[ArtifactFault] = []
    for done, sha256 in enumerate(sha256s, start=1):
        findings += _findings(store, sha256)
        progress(done, len(sha256s), "artifacts hashed")
    return tuple(findings)


def _findings(store: ArtifactStore, sha256: str) -> list[ArtifactFault]:
    try:
        home = store.path(sha256).parent
    except ArtifactDamaged:
        return [ArtifactFault(sha256, None, None, "missing")]
    kind = cast("ArtifactKind", home.parent.name)
    try:
        return [ArtifactFault(sha256, kind, name, damage) for name, damage in store.damages(sha256)]
    except ArtifactDamaged:
        is_there = (home / RECORD_FILE).exists()
        return [ArtifactFault(sha256, kind, None, "damaged record" if is_there else "no record")]
