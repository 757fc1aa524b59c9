import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest

from schemas.errors import InputError
from tasks.checkpoints.lease import LeaseLost
from tasks.checkpoints.machine import machine_name
from tasks.checkpoints.object_store import ObjectStore
from tests.tasks.checkpoints.steered_store import LEASES, Busy, SteeredStore, acquire, under


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
