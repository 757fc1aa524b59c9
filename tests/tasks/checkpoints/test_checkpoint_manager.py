"""Checkpoints of a training under way: which are written, which are mirrored, and what ends the training."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import InputError
from tasks.checkpoints.checkpoint_manager import KEPT_LOCALLY, Checkpoint, CheckpointManager
from tasks.checkpoints.lease import Lease, LeaseLost
from tasks.checkpoints.local import LocalCheckpoints
from tasks.checkpoints.mirror import Mirror
from tests.tasks.checkpoints.conftest import MemoryStore

BASE = "b" * 64
LONG = 60
"""Seconds after which a test has failed that waits for something."""


class GatedStore(MemoryStore):
    """A store that takes bytes of checkpoints only while its gate is open, and only while nothing is wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.asked = threading.Event()
        self.wrong: Exception | None = None
        self.at_once: set[int] = set()
        self.most_at_once = 0

    def put_new(self, key: str, content: Path | bytes) -> Any:
        if "/blobs/" in key:
            # Of which checkpoint it is says the folder that it comes from.
            assert isinstance(content, Path)
            step = int(content.parent.name.split("-")[1])
            self.at_once.add(step)
            self.most_at_once = max(self.most_at_once, len(self.at_once))
            self.asked.set()
            assert self.gate.wait(LONG)
            self.at_once.discard(step)
            if self.wrong is not None:
                raise self.wrong
        return super().put_new(key, content)


class Kept:
    """A keeper with all that it works on."""

    def __init__(self, folder: Path) -> None:
        self.store = GatedStore()
        self.folder = folder
        self.local = LocalCheckpoints(folder, "training", BASE)
        self.mirror = Mirror(self.store, "", "training")
        self.lease = Lease.acquire(self.store, self.mirror.root, seconds=600)
        self.troubles: list[tuple[int, str]] = []
        self.keeper = CheckpointManager(
            self.local, self.mirror, self.lease, 9, lambda step, text: self.troubles.append((step, text))
        )

    def keep(self, step: int, *, mirrored: bool = True, best: bool = False) -> None:
        """Keep a checkpoint, and wait until it is on the local disk."""

        def fill(folder: Path) -> None:
            (folder / "weights").write_text(f"of step {step}", encoding="utf-8")

        self.keeper.keep(Checkpoint(step, {}, fill), "best" if best else "newest" if mirrored else "local")
        assert self.keeper._writer.wait(LONG)

    def keep_slowly(self, step: int) -> None:
        """Keep a checkpoint that is under way to the mirror when this returns."""
        self.store.gate.clear()
        self.store.asked.clear()
        self.keep(step)
        assert self.store.asked.wait(LONG)

    def mirrored(self) -> list[int]:
        return sorted(manifest.step for manifest in self.mirror.manifests())

    def on_disk(self) -> list[int]:
        return sorted(int(path.name.split("-")[1]) for path in self.folder.iterdir())


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    kept = Kept(tmp_path)
    yield kept
    kept.store.gate.set()
    kept.keeper.close()
    kept.lease.release()


def test_of_those_that_wait_for_a_slow_mirror_the_newest_is_sent(kept: Kept) -> None:
    kept.keep_slowly(1)
    for step in (2, 3, 4):
        kept.keep(step)
    kept.store.gate.set()
    assert kept.keeper.flush(LONG)
    assert kept.mirrored() == [1, 4]
    assert kept.store.most_at_once == 1


def test_the_best_is_not_displaced_by_a_newer_one_and_is_pinned(kept: Kept) -> None:
    kept.keep_slowly(1)
    kept.keep(2, best=True)
    for step in (3, 4):
        kept.keep(step)
    kept.store.gate.set()
    assert kept.keeper.flush(LONG)
    assert kept.mirrored() == [1, 2, 4]
    assert kept.mirror.pins() == {"best": "00000002-00000001"}


def test_the_disk_has_the_newest_and_what_is_on_its_way_to_the_mirror(kept: Kept) -> None:
    kept.keep_slowly(1)
    for step in (2, 3, 4, 5):
        kept.keep(step, mirrored=False)
    assert kept.on_disk() == [1, 4, 5]
    assert KEPT_LOCALLY == 2
    kept.store.gate.set()
    assert kept.keeper.flush(LONG)
    kept.keep(6, mirrored=False)
    assert kept.on_disk() == [5, 6]


def test_a_mirror_that_fails_is_reported_and_the_next_is_tried_again(kept: Kept) -> None:
    kept.store.wrong = InputError("the store does not answer")
    kept.keep(1)
    with pytest.raises(InputError, match="the store does not answer"):
        kept.keeper.flush(LONG)
    assert kept.troubles == [(1, "the checkpoint of step 1 is on the local disk only: the store does not answer")]
    kept.store.wrong = None
    kept.keep(2)
    assert kept.keeper.flush(LONG)
    assert kept.mirrored() == [2]
    assert len(kept.troubles) == 1


def _take_over(kept: Kept) -> None:
    """Let another machine have the lease, as after a pause in which this one was given up."""
    content = kept.store.read(f"{kept.mirror.root}lease/00000001/00000000.json").replace(
        kept.lease.owner.machine.encode(), b"another-machine"
    )
    assert kept.store.put_new(f"{kept.mirror.root}lease/00000002/00000000.json", content)


def test_a_process_without_the_lease_mirrors_nothing_more_and_stops(kept: Kept) -> None:
    kept.keep(1)
    assert kept.keeper.flush(LONG)
    kept.keep_slowly(2)
    _take_over(kept)
    kept.store.gate.set()
    with pytest.raises(LeaseLost, match="was taken over by another-machine"):
        kept.keeper.flush(LONG)
    with pytest.raises(LeaseLost, match="was taken over by another-machine"):
        kept.keep(3)
    assert kept.mirrored() == [1]
    # It is no trouble of the mirror, which a later checkpoint could mend.
    assert kept.troubles == []
