"""A store whose clock and whose requests a test steers, and what the tests of the lease ask of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from tasks.checkpoints.lease import Lease
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
