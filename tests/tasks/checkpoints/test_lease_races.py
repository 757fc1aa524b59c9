from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.checkpoints.lease import Lease, LeaseLost
from tests.tasks.checkpoints.steered_store import LEASES, Busy, SteeredStore, TornStore, acquire


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
