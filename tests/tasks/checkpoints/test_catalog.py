import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.checkpoints import segments
from tasks.checkpoints.manifest import Manifest
from tasks.checkpoints.mirror import Mirror
from tasks.checkpoints.object_store import ObjectStore
from tests.tasks.checkpoints.checkpoint_folders import publish, restored, sealed_folder
from tests.tasks.checkpoints.conftest import MemoryStore
from tests.tasks.checkpoints.dying_store import DyingError, DyingStore, calls_of

pytestmark = pytest.mark.slow

LATER = timedelta(minutes=61)
"""After the grace time."""


class Clock:
    """A store's clock, which a test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def aging_store() -> tuple[MemoryStore, Clock]:
    memory, clock = MemoryStore(), Clock()
    memory.clock = clock
    return memory, clock


def content_of(step: int) -> dict[str, bytes]:
    return {"weights": f"weights {step // 30}".encode(), "state": str(step).encode(), "tokenizer": b"the same"}


def steps_of(memory: MemoryStore) -> list[tuple[int, int]]:
    manifests = [Manifest.from_bytes(memory.read(stored.key)) for stored in memory.list("train-1/manifests/")]
    return [(manifest.step, manifest.fencing) for manifest in manifests]


def blobs_of(memory: MemoryStore) -> set[bytes]:
    return {memory.read(stored.key) for stored in memory.list("train-1/blobs/")}


@settings(max_examples=40, deadline=None)
@given(steps=st.sets(st.integers(0, 99), min_size=1, max_size=8), keep=st.integers(1, 4), data=st.data())
def test_the_newest_and_the_pinned_are_kept_and_nothing_else(steps: set[int], keep: int, data: st.DataObject) -> None:
    memory, clock = aging_store()
    mirror = Mirror(memory, "", "train-1")
    manifests = {step: publish(mirror, step, content_of(step)) for step in sorted(steps)}
    best, final = (data.draw(st.sampled_from(sorted(steps))) for _ in range(2))
    mirror.pin("best", manifests[best])
    mirror.pin("final", manifests[final])
    clock.now += LATER
    pruned = Mirror(memory, "", "train-1").prune(keep)
    kept = {best, final, *sorted(steps)[-keep:]}
    assert {step for step, _ in steps_of(memory)} == kept
    assert all(restored(mirror, manifests[step]) == content_of(step) for step in kept)
    needed = {content for step in kept for content in content_of(step).values()}
    dropped = {content for step in steps for content in content_of(step).values()} - needed
    assert blobs_of(memory) == needed
    assert (pruned.manifests, pruned.blobs) == (len(steps - kept), len(dropped))
    assert pruned.bytes == sum(map(len, dropped))


def test_bytes_go_when_the_grace_time_is_over_by_the_stores_own_clock() -> None:
    memory, clock = aging_store()
    mirror = Mirror(memory, "", "train-1")
    for step in (10, 20):
        publish(mirror, step, {"state": str(step).encode()})
    clock.now += timedelta(minutes=59)
    assert (mirror.prune(1).manifests, blobs_of(memory)) == (1, {b"10", b"20"})
    clock.now += timedelta(minutes=2)
    assert (mirror.prune(1).blobs, blobs_of(memory)) == (1, {b"20"})


@pytest.mark.parametrize(("minutes", "sent"), [(40, False), (50, True)])
def test_bytes_that_a_pruning_may_be_about_to_remove_are_sent_again(minutes: int, sent: bool) -> None:
    """The pruning has removed the manifest that named them, and has not seen the one that names them now."""
    memory, clock = aging_store()
    mirror = Mirror(memory, "", "train-1")
    publish(mirror, 10, {"weights": b"shared"})
    (named,) = memory.list("train-1/manifests/")
    clock.now += timedelta(minutes=minutes)

    def pruning() -> None:
        assert memory.delete(named)

    mirror.publish(sealed_folder(20, {"weights": b"shared"}), before_manifest=pruning)
    (blob,) = memory.list("train-1/blobs/")
    assert (blob.created_at == clock.now) is sent
    assert memory.sent == len(b"shared") * (1 + sent)


def test_branches_that_the_training_went_on_without_go_unless_pinned() -> None:
    memory, _ = aging_store()
    mirror = Mirror(memory, "", "train-1")
    segments.begin(memory, mirror.root, 1, 0)
    dead = [publish(mirror, step, content_of(step)) for step in (130, 140, 150, 160, 170)]
    segments.begin(memory, mirror.root, 2, 140)
    publish(mirror, 145, content_of(145), fencing=2)
    mirror.pin("best", dead[3])
    mirror.prune(2)
    assert steps_of(memory) == [(140, 1), (145, 2), (160, 1)]


def test_all_bytes_are_kept_while_a_manifest_that_is_kept_cannot_be_read(caplog: pytest.LogCaptureFixture) -> None:
    memory, clock = aging_store()
    mirror = Mirror(memory, "", "train-1")
    for step in (10, 20, 30):
        publish(mirror, step, {"state": str(step).encode()})
    memory.objects["train-1/manifests/00000020-00000001.json"] = b"{}"
    clock.now += LATER
    reader = Mirror(memory, "", "train-1")
    reader.prune(2)
    assert blobs_of(memory) == {b"10", b"20", b"30"}
    assert "00000020-00000001.json was altered" in caplog.text
    # When newer ones have taken its place it goes like any other.
    reader.prune(1)
    assert steps_of(memory) == [(30, 1)]
    assert blobs_of(memory) == {b"30"}


def many_checkpoints() -> tuple[MemoryStore, Clock]:
    """Return a mirror of old checkpoints, and of bytes that no checkpoint is made of."""
    memory, clock = aging_store()
    mirror = Mirror(memory, "", "train-1")

    def broken_off() -> None:
        raise DyingError

    with pytest.raises(DyingError):
        mirror.publish(sealed_folder(5, {"orphan": b"orphan"}), before_manifest=broken_off)
    for step in (10, 20, 30):
        publish(mirror, step, content_of(step))
    mirror.pin("best", publish(mirror, 25, content_of(25)))
    clock.now += LATER
    return memory, clock


@pytest.mark.parametrize("after", [False, True])
def test_a_death_at_any_call_of_a_pruning_loses_nothing_that_is_kept(after: bool) -> None:
    def work(store: ObjectStore) -> object:
        return Mirror(store, "", "train-1").prune(1)

    for call in range(1, calls_of(work, lambda: many_checkpoints()[0]) + 1):
        memory, _ = many_checkpoints()
        with pytest.raises(DyingError):
            work(DyingStore(memory, call, after=after))
        mirror = Mirror(memory, "", "train-1")
        for manifest in mirror.manifests():
            mirror.verify(manifest)
        mirror.prune(1)
        assert steps_of(memory) == [(25, 1), (30, 1)]
        assert blobs_of(memory) == {*content_of(25).values(), *content_of(30).values()}


class Turns:
    """Lets several processes call one store in a given order; when it is used up, as they come."""

    def __init__(self, turns: Iterable[str]) -> None:
        self._turns = deque(turns)
        self._changed = threading.Condition()
        self._ended: set[str] = set()

    def call(self, name: str, method: Callable[..., Any], *arguments: Any) -> Any:
        with self._changed:
            self._changed.wait_for(lambda: self._whose() in {name, None})
            if self._turns:
                self._turns.popleft()
            try:
                return method(*arguments)
            finally:
                self._changed.notify_all()

    def end(self, name: str) -> None:
        with self._changed:
            self._ended.add(name)
            self._changed.notify_all()

    def _whose(self) -> str | None:
        while self._turns and self._turns[0] in self._ended:
            self._turns.popleft()
        return self._turns[0] if self._turns else None


class TakingTurns:
    """The store as one of the processes sees it."""

    def __init__(self, store: ObjectStore, turns: Turns, name: str) -> None:
        self._store, self._turns, self._name = store, turns, name

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return lambda *arguments: self._turns.call(self._name, getattr(self._store, method), *arguments)


def interleave(
    store: ObjectStore, processes: Mapping[str, Callable[[ObjectStore], object]], turns: Iterable[str]
) -> None:
    """Run processes at the same moment, their calls to the store in the order of the turns."""
    order = Turns(turns)

    def run(name: str) -> None:
        try:
            processes[name](TakingTurns(store, order, name))
        finally:
            order.end(name)

    with ThreadPoolExecutor(len(processes)) as pool:
        list(pool.map(run, processes))


def copied(memory: MemoryStore) -> MemoryStore:
    copy = MemoryStore()
    copy.clock = memory.clock
    copy.objects = dict(memory.objects)
    copy._stored = dict(memory._stored)
    copy._generation = memory._generation
    return copy


# Made of bytes of a checkpoint that is removed (10), of one that is kept until a newer one comes (30), and of none.
RACING = {
    "weights": content_of(10)["weights"],
    "state": content_of(30)["state"],
    "tokenizer": b"the same",
    "orphan": b"orphan",
}


def publishing(store: ObjectStore) -> object:
    return publish(Mirror(store, "", "train-1"), 40, RACING)


def pruning(store: ObjectStore) -> object:
    return Mirror(store, "", "train-1").prune(1)


def require_whole(memory: MemoryStore, *wanted: int) -> None:
    mirror = Mirror(memory, "", "train-1")
    manifests = mirror.manifests()
    for manifest in manifests:
        mirror.verify(manifest)
    assert set(wanted) <= {manifest.step for manifest in manifests}


def test_a_pruning_at_the_same_moment_takes_nothing_from_what_is_reported_as_saved() -> None:
    start, _ = many_checkpoints()
    processes = {"publish": publishing, "other": pruning}
    calls = {name: calls_of(work, lambda: copied(start)) for name, work in processes.items()}
    for one, two in (("publish", "other"), ("other", "publish")):
        for first in range(calls[one] + 1):
            for second in range(first % 3, calls[two] + 1, 3):
                memory = copied(start)
                interleave(memory, processes, [one] * first + [two] * second + [one] * 100)
                require_whole(memory, 40)
