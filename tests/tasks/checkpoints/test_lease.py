"""The lease: one holder at any time, by the clock of the store, whatever is lost, late or damaged."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import InputError
from tasks.checkpoints.lease import Lease, LeaseLost
from tasks.checkpoints.machine import machine_name
from tasks.checkpoints.object_store import ObjectStore, StoredObject
from tests.tasks.checkpoints.conftest import MemoryStore

ROOT = "mirror/training/"
LEASES = f"{ROOT}lease/"


class Busy(Exception):
    """Somebody holds the lease."""


def refuse_to_wait(sentence: str, seconds: float) -> None:
    raise Busy(sentence, seconds)


def acquire(store: ObjectStore, seconds: float = 60) -> Lease:
    return Lease.acquire(store, ROOT, seconds=seconds, waiting=refuse_to_wait)


def under(store: ObjectStore, fencing: int) -> list[str]:
    return [stored.key.removeprefix(LEASES) for stored in store.list(f"{LEASES}{fencing:08d}/")]


class SteeredStore(MemoryStore):
    """A store whose clock stands until the test moves it, and that does something of the test's before each answer."""

    def __init__(self) -> None:
        super().__init__()
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.clock = lambda: self.now
        self.before: Callable[[], None] = lambda: None

    def put_new(self, key: str, content: Path | bytes) -> StoredObject | None:
        self.before()
        return super().put_new(key, content)

    def read(self, key: str) -> bytes:
        self.before()
        return super().read(key)

    def list(self, prefix: str) -> list[StoredObject]:
        self.before()
        return super().list(prefix)

    def delete(self, stored: StoredObject) -> bool:
        self.before()
        return super().delete(stored)

    def interrupt(self, request_number: int, act: Callable[[], object]) -> None:
        """Do something, once, just before the request of this number, counted from now and from 0."""
        requests = iter(range(request_number))

        def before() -> None:
            if next(requests, None) is None:
                self.before = lambda: None
                act()

        self.before = before

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Let the test itself look, and nothing happen."""
        before, self.before = self.before, lambda: None
        yield
        self.before = before


class TornStore(SteeredStore):
    """A store whose listing misses what is created or deleted while it is made, as a folder's may.

    The first `seen` objects were listed before that.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0
        self.during_listing: Callable[[], object] = lambda: None

    def list(self, prefix: str) -> list[StoredObject]:
        listed = super().list(prefix)
        during, self.during_listing = self.during_listing, lambda: None
        during()
        return listed[: self.seen] + [stored for stored in listed[self.seen :] if stored.key in self.objects]


def until(condition: Callable[[], object]) -> None:
    while not condition():
        time.sleep(0.01)


def heartbeats() -> int:
    return sum(thread.name.startswith("lease ") for thread in threading.enumerate())


def unreachable() -> None:
    raise InputError("the store cannot be reached")


def test_a_live_holder_is_waited_for_by_name_and_for_a_time_that_ends(store: ObjectStore) -> None:
    acquire(store, seconds=1000)
    with pytest.raises(Busy) as busy:
        acquire(store, seconds=5)
    sentence, left = busy.value.args
    assert f"machine {machine_name()}" in sentence
    assert "training training" in sentence
    assert 900 < left <= 1000
    assert "at most 1000 s" in sentence or "at most 9" in sentence


def test_a_zombie_learns_who_took_over_and_touches_nothing_of_its_successor() -> None:
    store = SteeredStore()
    zombie = acquire(store, seconds=60)
    store.now += timedelta(seconds=61)
    successor = acquire(store)
    successor._beat()
    before = store.list(LEASES)
    with pytest.raises(
        LeaseLost, match=rf"training training was taken over by {machine_name()} .*; this process stops"
    ):
        zombie.require_held()
    with pytest.raises(LeaseLost):
        zombie._beat()
    zombie.release()
    zombie.start()
    zombie.release()
    assert store.list(LEASES) == before
    successor.require_held()


def test_the_heartbeat_renews_the_lease_until_it_is_released(store: ObjectStore) -> None:
    lease = acquire(store, seconds=0.3)
    lease.start()
    until(lambda: "00000001/00000004.json" in under(store, 1))
    lease.release()
    assert heartbeats() == 0
    assert not lease.lost.is_set()
    assert acquire(store).fencing == 2


def test_releasing_again_changes_nothing_and_never_gives_back_a_successors_lease(store: ObjectStore) -> None:
    first = acquire(store)
    first.release()
    first.release()
    with pytest.raises(LeaseLost, match="given back"):
        first.require_held()
    second = acquire(store)
    first.release()
    second.require_held()
    with pytest.raises(Busy):
        acquire(store)


def test_an_outage_longer_than_the_lease_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """An outage of some minutes must not end a training of a day: who cannot reach the store, takes nothing over."""
    store = SteeredStore()
    lease = acquire(store, seconds=0.3)
    store.before = unreachable
    lease.start()
    until(lambda: caplog.text.count("the store cannot be reached") > 8)
    with pytest.raises(InputError, match="cannot be reached"):
        lease.require_held()
    seen = len(store.objects)
    store.before = lambda: None
    until(lambda: len(store.objects) != seen)
    assert not lease.lost.is_set()
    lease.require_held()
    lease.release()


@pytest.mark.parametrize("content", [b"", b'{"seconds": 60}'], ids=["empty", "half"])
def test_a_damaged_lease_stops_with_one_sentence_and_is_not_deleted(store: ObjectStore, content: bytes) -> None:
    store.put_new(f"{LEASES}00000007/00000000.json", content)
    before = store.list(LEASES)
    with pytest.raises(InputError, match=r"00000007/00000000.json is damaged .* released.json") as error:
        acquire(store)
    assert "\n" not in str(error.value)
    assert store.list(LEASES) == before
    store.put_new(f"{LEASES}00000007/released.json", b"")  # as the sentence says
    assert acquire(store).fencing == 8


@pytest.mark.parametrize("beats", range(5))
def test_no_number_is_given_twice_where_a_listing_misses_what_changes_meanwhile(beats: int) -> None:
    store = TornStore()
    holder = acquire(store, seconds=10)
    for _ in range(3):
        store.now += timedelta(seconds=4)
        holder._beat()

    def beat() -> None:
        for _ in range(beats):
            holder._beat()

    store.during_listing = beat
    if beats < 2:
        with pytest.raises(Busy):
            acquire(store)
        holder.require_held()
    else:
        with suppress(Busy):
            assert acquire(store).fencing == 2


@dataclass(frozen=True)
class Move:
    """What one machine does, and what happens just before each of its first requests to the store."""

    kind: str
    machine: int
    seconds: int
    before: tuple["Move | None", ...] = ()


def moves(depth: int) -> st.SearchStrategy[Move]:
    between = st.lists(st.none() | moves(depth - 1), max_size=5).map(tuple) if depth else st.just(())
    kinds = st.sampled_from(["acquire", "acquire", "beat", "release", "pass"])
    return st.builds(Move, kinds, st.integers(0, 2), st.sampled_from([1, 4, 9, 11]), between)


@dataclass
class World:
    """Three machines that contend for one lease of ten seconds, by a clock that moves only when a move says so."""

    store: SteeredStore = field(default_factory=SteeredStore)
    leases: dict[int, Lease] = field(default_factory=dict)
    in_time_until: dict[int, datetime] = field(default_factory=dict)
    busy: set[int] = field(default_factory=set)
    granted: list[int] = field(default_factory=list)

    def play(self, move: Move) -> None:
        if move.kind == "pass":
            self.store.now += timedelta(seconds=move.seconds)
        elif move.machine not in self.busy:
            self.busy.add(move.machine)
            waiting = list(move.before)

            def interrupt() -> None:
                if waiting and (other := waiting.pop(0)):
                    self.play(other)

            outer, self.store.before = self.store.before, interrupt
            try:
                self.act(move)
            finally:
                self.store.before = outer
                self.busy.remove(move.machine)
            self.check()

    def act(self, move: Move) -> None:
        lease = self.leases.get(move.machine)
        if move.kind == "acquire" and lease is None:
            self.acquire(move.machine)
        elif move.kind == "beat" and lease:
            asked = self.store.now
            try:
                lease._beat()
            except LeaseLost:
                del self.leases[move.machine]
            else:
                if asked <= self.in_time_until[lease.fencing]:
                    self.in_time_until[lease.fencing] = asked + timedelta(seconds=10)
        elif move.kind == "release" and lease:
            del self.leases[move.machine]
            self.in_time_until[lease.fencing] = self.store.now
            lease.release()

    def acquire(self, machine: int) -> None:
        asked = self.store.now
        try:
            lease = acquire(self.store, seconds=10)
        except Busy:
            return
        assert lease.fencing > max(self.granted, default=0)
        predecessor = max(self.granted, default=0)
        assert self.store.now >= self.in_time_until.get(predecessor, self.store.now), "a holder in time was taken over"
        self.granted.append(lease.fencing)
        self.leases[machine] = lease
        self.in_time_until[lease.fencing] = asked + timedelta(seconds=10)

    def check(self) -> None:
        with self.store.quiet():
            holders = [lease.fencing for lease in self.leases.values() if self.holds(lease)]
            numbers = [int(stored.key.removeprefix(LEASES)[:8]) for stored in self.store.list(LEASES)]
        assert len(holders) <= 1
        assert max(numbers, default=0) >= max(self.granted, default=0)

    def holds(self, lease: Lease) -> bool:
        try:
            lease.require_held()
        except LeaseLost:
            return False
        return True


@settings(deadline=None)
@given(st.lists(moves(2), max_size=30))
def test_at_any_time_at_most_one_machine_holds_the_lease_and_none_in_time_loses_it(schedule: list[Move]) -> None:
    world = World()
    for move in schedule:
        world.play(move)
    world.store.now += timedelta(seconds=11)
    assert acquire(world.store).fencing > max(world.granted, default=0)
