"""All that is wrong with artifacts is found, and nothing else."""

from pathlib import Path

import pytest

from schemas.artifact import ArtifactRecord
from schemas.progress import silent
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.lineage.store.inventory import ArtifactFault, verify
from tests.tasks.lineage.made import commit

FILES = {"a.txt": b"um", "folder/b.txt": b"dois", "folder/c.txt": b"tres"}


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path)


@pytest.fixture
def record(store: ArtifactStore) -> ArtifactRecord:
    return commit(store, "policy", FILES)


def flip(path: Path, place: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 1 << bit
    path.chmod(0o644)
    path.write_bytes(content)


def test_everything_that_is_wrong_is_reported_and_not_only_the_first(
    store: ArtifactStore, record: ArtifactRecord
) -> None:
    other = commit(store, "plan", {"plan.json": b"{}"})
    content = store.path(record.sha256)
    flip(content / "a.txt", 0)
    (content / "folder" / "c.txt").unlink()
    (content / "folder" / "d.txt").touch()
    flip(store.path(other.sha256) / "plan.json", 1)
    assert verify(store, [record.sha256, other.sha256], silent) == (
        ArtifactFault(record.sha256, "policy", "a.txt", "altered"),
        ArtifactFault(record.sha256, "policy", "folder/c.txt", "missing"),
        ArtifactFault(record.sha256, "policy", "folder/d.txt", "added"),
        ArtifactFault(other.sha256, "plan", "plan.json", "altered"),
    )
