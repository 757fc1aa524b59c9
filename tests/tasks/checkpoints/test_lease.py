import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import InputError
from tasks.checkpoints.folder_store import FolderStore
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


def until(condition: Callable[[], object]) -> None:
    while not condition():
        time.sleep(0.01)


def under(store: ObjectStore, fencing: int) -> list[str]:
    return [stored.key.removeprefix(LEASES) for stored in store.list(f"{LEASES}{fencing:08d}/")]


class UnreliableStore(MemoryStore):
    """A store that does something of the test's before it answers."""

    def __init__(self) -> None:
        super().__init__()
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

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Let the test itself look, and nothing happen."""
        before, self.before = self.before, lambda: None
        yield
        self.before = before


def unreachable() -> None:
    raise InputError("the store cannot be reached")


def test_the_first_lease_has_number_one_and_each_next_one_more(store: ObjectStore) -> None:
    for fencing in (1, 2, 3):
        lease = acquire(store)
        assert lease.fencing == fencing
        lease.require_held()
        lease.release()


def test_a_live_holder_is_waited_for_by_name_and_for_a_time_that_ends(store: ObjectStore) -> None:
    acquire(store, seconds=1000)
    with pytest.raises(Busy) as busy:
        acquire(store, seconds=5)
    sentence, left = busy.value.args
    assert f"machine {machine_name()}" in sentence
    assert "training training" in sentence
    assert 900 < left <= 1000
    assert "at most 1000 s" in sentence or "at most 9" in sentence


def test_a_waiting_process_goes_on_as_soon_as_the_lease_is_given_back(store: ObjectStore) -> None:
    first = acquire(store, seconds=1000)
    sleeps: list[float] = []

    def sleep(seconds: float) -> None:
        sleeps.append(seconds)
        if len(sleeps) == 3:
            first.release()

    second = Lease.acquire(store, ROOT, seconds=1000, sleep=sleep)
    assert second.fencing == 2
    assert len(sleeps) == 3
    assert all(0 < seconds <= 5 for seconds in sleeps)


@pytest.mark.parametrize("wrong_by", [timedelta(hours=-1), timedelta(0), timedelta(hours=1)])
def test_a_lease_expires_by_the_clock_of_the_store_alone(wrong_by: timedelta) -> None:
    store = MemoryStore()
    store.now = datetime.now(UTC) + wrong_by
    first = acquire(store, seconds=60)
    store.now += timedelta(seconds=59)
    with pytest.raises(Busy):
        acquire(store, seconds=5)
    first.require_held()
    store.now += timedelta(seconds=2)
    assert acquire(store).fencing == 2
    with pytest.raises(LeaseLost):
        first.require_held()


def test_a_lease_that_nobody_renews_is_waited_out(store: ObjectStore) -> None:
    acquire(store, seconds=0.3)
    waits: list[float] = []
    lease = Lease.acquire(store, ROOT, seconds=60, waiting=lambda _, left: waits.append(left))
    assert lease.fencing == 2
    assert waits == sorted(waits, reverse=True)
    assert 0 <= waits[-1] <= waits[0] <= 0.3


def test_a_beat_makes_the_lease_young_again() -> None:
    store = MemoryStore()
    store.now = datetime.now(UTC)
    lease = acquire(store, seconds=60)
    for _ in range(5):
        store.now += timedelta(seconds=50)
        lease._beat()
        with pytest.raises(Busy):
            acquire(store)
    lease.require_held()


def test_a_zombie_is_told_who_took_over_and_touches_nothing_of_its_successor() -> None:
    store = MemoryStore()
    store.now = datetime.now(UTC)
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


def test_the_heartbeat_notices_a_successor() -> None:
    store = MemoryStore()
    store.now = datetime.now(UTC)
    lease = acquire(store, seconds=0.3)
    store.now += timedelta(seconds=1)
    acquire(store)
    lease.start()
    assert lease.lost.wait()
    lease.release()


def test_the_heartbeat_renews_the_lease_until_it_is_released(store: ObjectStore) -> None:
    threads = threading.active_count()
    lease = acquire(store, seconds=0.3)
    lease.start()
    until(lambda: "00000001/00000004.json" in under(store, 1))
    with pytest.raises(Busy):
        acquire(store)
    lease.release()
    assert threading.active_count() == threads
    assert not lease.lost.is_set()
    assert acquire(store).fencing == 2


def test_releasing_does_not_wait_for_the_next_beat_and_leaves_no_thread() -> None:
    threads = threading.active_count()
    lease = acquire(MemoryStore(), seconds=1e6)
    lease.start()
    assert threading.active_count() == threads + 1
    lease.release()
    assert threading.active_count() == threads


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


def test_a_store_that_fails_for_a_while_loses_no_lease() -> None:
    store = UnreliableStore()
    lease = acquire(store, seconds=2)
    failures: list[None] = []

    def fail_thrice() -> None:
        if len(failures) < 3:
            failures.append(None)
            unreachable()

    store.before = fail_thrice
    lease.start()
    until(lambda: len(store.objects) == 2)
    assert len(failures) == 3
    assert not lease.lost.is_set()
    lease.require_held()
    lease.release()


def test_a_store_that_stays_away_loses_the_lease_once_its_time_is_over(caplog: pytest.LogCaptureFixture) -> None:
    store = UnreliableStore()
    asked = time.monotonic()
    lease = acquire(store, seconds=0.3)
    store.before = unreachable
    lease.start()
    lease.lost.wait()
    assert time.monotonic() - asked >= 0.3
    assert "the store cannot be reached" in caplog.text
    with pytest.raises(InputError, match="cannot be reached"):
        lease.require_held()
    store.before = lambda: None
    with pytest.raises(LeaseLost, match=r"no heartbeat .* for 0.3 s"):
        lease.require_held()
    lease.release()
    assert acquire(store).fencing == 2


def test_a_heartbeat_that_ends_by_something_unforeseen_loses_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    store = UnreliableStore()
    lease = acquire(store, seconds=0.3)
    seen: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda failure: seen.append(failure.exc_type))
    nothing: list[None] = []
    store.before = nothing.pop
    lease.start()
    lease.lost.wait()
    until(lambda: seen)
    assert seen == [IndexError]


def test_a_release_that_cannot_reach_the_store_warns_and_lets_the_lease_run_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = UnreliableStore()
    lease = acquire(store)
    store.before = unreachable
    lease.release()
    assert "runs out in 60 s" in caplog.text


def test_a_process_too_busy_to_beat_in_time_keeps_the_lease_that_nobody_took(store: ObjectStore) -> None:
    lease = acquire(store, seconds=0.3)
    lease.start()
    beats = len(under(store, 1))
    sum(range(40_000_000))  # holds the interpreter for much longer than the lease lives
    assert beats == 1
    until(lambda: lease.lost.is_set() or "00000001/00000001.json" in under(store, 1))
    lease.require_held()
    lease.release()


@pytest.mark.parametrize("kind", ["memory", "folder"])
def test_of_threads_that_race_one_at_a_time_holds_the_lease(kind: str, tmp_path: Path) -> None:
    store: ObjectStore = MemoryStore() if kind == "memory" else FolderStore(tmp_path)
    barrier = threading.Barrier(6)
    holding = threading.Semaphore(1)
    fencings: list[int] = []
    clashes: list[int] = []

    def work() -> None:
        barrier.wait()
        for _ in range(4):
            lease = Lease.acquire(store, ROOT, seconds=600, sleep=lambda _: time.sleep(0.002))
            if not holding.acquire(blocking=False):
                clashes.append(lease.fencing)
                return
            fencings.append(lease.fencing)
            lease._beat()
            lease.require_held()
            holding.release()
            lease.release()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not clashes
    assert fencings == list(range(1, 25))


def test_what_is_left_of_many_leases_and_beats_stays_small(store: ObjectStore) -> None:
    for fencing in range(1, 6):
        lease = acquire(store)
        assert lease.fencing == fencing
        for _ in range(10):
            lease._beat()
            assert len(under(store, fencing)) <= 3
        lease.release()
        assert len(store.list(LEASES)) <= 8
    assert len(store.list(ROOT)) == len(store.list(LEASES))


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\x00", b"[]", b'{"owner": "somebody"}', b'{"seconds": 60}'],
    ids=["empty", "bytes", "list", "foreign", "half"],
)
def test_a_damaged_lease_stops_with_one_sentence_and_is_not_deleted(store: ObjectStore, content: bytes) -> None:
    store.put_new(f"{LEASES}00000007/00000000.json", content)
    before = store.list(LEASES)
    with pytest.raises(InputError, match=r"00000007/00000000.json is damaged .* released.json") as error:
        acquire(store)
    assert "\n" not in str(error.value)
    assert store.list(LEASES) == before
    store.put_new(f"{LEASES}00000007/released.json", b"")  # as the sentence says
    assert acquire(store).fencing == 8


def test_one_damaged_beat_is_no_damaged_lease(store: ObjectStore) -> None:
    lease = acquire(store)
    lease._beat()
    (claim, _) = store.list(LEASES)
    store.delete(claim)
    store.put_new(claim.key, b"damaged")
    with pytest.raises(Busy):
        acquire(store)


def test_something_else_among_the_leases_stops_with_one_sentence_and_is_not_deleted(store: ObjectStore) -> None:
    lease = acquire(store)
    store.put_new(f"{LEASES}notes.txt", b"mine")
    with pytest.raises(InputError, match=r"lease/notes.txt is no lease"):
        acquire(store)
    lease._beat()
    lease.require_held()
    lease.release()
    assert store.read(f"{LEASES}notes.txt") == b"mine"


def test_a_holder_whose_lease_was_removed_by_hand_stops(store: ObjectStore) -> None:
    lease = acquire(store)
    for stored in store.list(LEASES):
        store.delete(stored)
    with pytest.raises(LeaseLost, match="removed"):
        lease.require_held()


CHILD = """
import sys
from pathlib import Path
from tasks.checkpoints.folder_store import FolderStore
from tasks.checkpoints.lease import Lease, LeaseLost
lease = Lease.acquire(FolderStore(Path(sys.argv[1])), "mirror/training/", seconds=float(sys.argv[2]))
lease.start()
print(lease.fencing, flush=True)
lease.lost.wait()
try:
    lease.require_held()
except LeaseLost as error:
    print(error, flush=True)
lease.release()
"""


@contextmanager
def child(folder: Path, seconds: float) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", CHILD, str(folder), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "1\n"
            yield process
        finally:
            process.kill()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not tell")
def test_a_killed_process_on_this_machine_is_taken_over_at_once(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    with child(tmp_path, 3600) as process:
        with pytest.raises(Busy, match=f"process {process.pid} "):
            acquire(store)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert acquire(store).fencing == 2


def test_a_paused_process_is_taken_over_after_its_time_and_stops_when_it_wakes(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    with child(tmp_path, 0.6) as process:
        until(lambda: "00000001/00000001.json" in under(store, 1))
        process.send_signal(signal.SIGSTOP)
        successor = Lease.acquire(store, ROOT, seconds=3600)
        assert successor.fencing == 2
        before = store.list(f"{LEASES}00000002/")
        process.send_signal(signal.SIGCONT)
        assert process.stdout
        assert f"taken over by {machine_name()}" in process.stdout.readline()
        assert process.wait() == 0
        assert store.list(f"{LEASES}00000002/") == before
        successor.require_held()


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
    return st.builds(Move, kinds, st.integers(0, 3), st.integers(0, 15), between)


@dataclass
class World:
    """Four machines that contend for one lease of ten seconds, by a clock that moves only when a move says so."""

    store: UnreliableStore = field(default_factory=UnreliableStore)
    leases: dict[int, Lease] = field(default_factory=dict)
    in_time_until: dict[int, datetime] = field(default_factory=dict)
    busy: set[int] = field(default_factory=set)
    granted: list[int] = field(default_factory=list)

    @property
    def now(self) -> datetime:
        assert self.store.now
        return self.store.now

    def play(self, move: Move) -> None:
        if move.kind == "pass":
            self.store.now = self.now + timedelta(seconds=move.seconds)
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
            asked = self.now
            try:
                lease._beat()
            except LeaseLost:
                del self.leases[move.machine]
            else:
                if asked <= self.in_time_until[lease.fencing]:
                    self.in_time_until[lease.fencing] = asked + timedelta(seconds=10)
        elif move.kind == "release" and lease:
            del self.leases[move.machine]
            self.in_time_until[lease.fencing] = self.now
            lease.release()

    def acquire(self, machine: int) -> None:
        asked = self.now
        try:
            lease = acquire(self.store, seconds=10)
        except Busy:
            return
        assert lease.fencing > max(self.granted, default=0)
        predecessor = max(self.granted, default=0)
        assert self.now >= self.in_time_until.get(predecessor, self.now), "a holder in time was taken over"
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


@given(st.lists(moves(2), max_size=30))
def test_at_any_time_at_most_one_machine_holds_the_lease_and_none_in_time_loses_it(schedule: list[Move]) -> None:
    world = World()
    world.store.now = datetime(2026, 1, 1, tzinfo=UTC)
    for move in schedule:
        world.play(move)
    world.store.now = world.now + timedelta(seconds=11)
    assert acquire(world.store).fencing > max(world.granted, default=0)
