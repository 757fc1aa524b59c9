"""Stores to test against: one in memory, one in a folder, and a bucket of a service on loopback."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

import google_crc32c
import pytest

from tasks.checkpoints.folder_store import FolderStore
from tasks.checkpoints.gcs_store import GcsStore
from tasks.checkpoints.mirror import Mirror
from tasks.checkpoints.object_store import ObjectMissing, ObjectStore, StoredObject, encoded
from tests.storage_server import StorageServer, storage_server


class MemoryStore:
    """An object store that is as fast as a dictionary, whose clock a test can set and whose bytes it can spoil.

    Bytes that are replaced in `objects` are silent corruption: the listing still says what was put.
    """

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.sent = 0
        """Bytes of checkpoints' files that were put."""
        self.clock: Callable[[], datetime] = lambda: datetime.now(UTC)
        self._stored: dict[str, StoredObject] = {}
        self._generation = 0
        self._lock = Lock()

    def put_new(self, key: str, content: Path | bytes) -> StoredObject | None:
        data = content if isinstance(content, bytes) else content.read_bytes()
        with self._lock:
            if key in self.objects:
                return None
            self._generation += 1
            stored = StoredObject(key, self._generation, len(data), encoded(google_crc32c.value(data)), self.clock())
            self.objects[key] = data
            self._stored[key] = stored
            self.sent += len(data) if "/blobs/" in key else 0
        return stored

    def read(self, key: str) -> bytes:
        try:
            return self.objects[key]
        except KeyError:
            raise ObjectMissing(f"no object {key}") from None

    def download(self, key: str, path: Path) -> None:
        path.write_bytes(self.read(key))

    def list(self, prefix: str) -> list[StoredObject]:
        with self._lock:
            return [self._stored[key] for key in sorted(self.objects) if key.startswith(prefix)]

    def erase(self, prefix: str) -> int:
        return sum(map(self.delete, self.list(prefix)))

    def delete(self, stored: StoredObject) -> bool:
        with self._lock:
            is_there = stored.key in self.objects and self._stored[stored.key].generation == stored.generation
            if is_there:
                del self.objects[stored.key]
        return is_there


def keys(store: ObjectStore, prefix: str = "") -> list[str]:
    return [stored.key for stored in store.list(prefix)]


@pytest.fixture
def memory() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def mirror(memory: MemoryStore) -> Mirror:
    return Mirror(memory, "", "train-1")


@pytest.fixture(scope="session")
def _service() -> Iterator[StorageServer]:
    with storage_server() as service:
        yield service


@pytest.fixture
def service(_service: StorageServer) -> Iterator[StorageServer]:
    """A storage service on loopback with an empty bucket, where nothing goes wrong until a test says so."""
    _service.reset()
    yield _service
    _service.reset()


@pytest.fixture(params=["memory", "folder", pytest.param("gcs", marks=pytest.mark.integration)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    if request.param == "memory":
        return MemoryStore()
    if request.param == "folder":
        return FolderStore(tmp_path / "mirror")
    service: StorageServer = request.getfixturevalue("service")
    return GcsStore(service.bucket, service.client())
