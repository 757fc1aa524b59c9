"""What a place lets this machine do is found out with one object, of which nothing stays."""

from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.checkpoints.object_store import ObjectStore, StoredObject
from tasks.checkpoints.permissions import FOLDER, probe, probe_address
from tests.storage_server import StorageServer
from tests.tasks.checkpoints.conftest import MemoryStore


class CarelessStore(MemoryStore):
    """A place that lets every writer create an object, as if nobody had before."""

    def put_new(self, key: str, content: Path | bytes) -> StoredObject | None:
        self.objects.pop(key, None)
        return super().put_new(key, content)


class OnlyCreates(MemoryStore):
    """A place whose account may create objects and nothing else."""

    def read(self, key: str) -> bytes:
        raise InputError("no permission to read; give one")

    def list(self, prefix: str) -> list[StoredObject]:
        raise InputError("no permission to list; give one")

    def delete(self, stored: StoredObject) -> bool:
        raise InputError("no permission to delete; give one")


def test_a_place_that_grants_all_is_left_as_it_was(store: ObjectStore) -> None:
    store.put_new("training/manifests/1", b"x")
    before = store.list("")
    probed = probe(store, "prefix/")
    assert probed.refusals == {}
    assert probed.left is None
    assert store.list("") == before


def test_a_place_without_preconditions_is_reported() -> None:
    store = CarelessStore()
    probed = probe(store, "")
    assert list(probed.refusals) == ["precondition"]
    assert "two machines could train at once; use a bucket" in probed.refusals["precondition"]
    assert store.objects == {}


def test_all_that_is_refused_is_reported_at_once_with_what_stays() -> None:
    store = OnlyCreates()
    probed = probe(store, "prefix/")
    assert list(probed.refusals) == ["read", "list", "delete"]
    assert probed.left in store.objects
    assert str(probed.left).startswith(f"prefix/{FOLDER}")


def test_a_folder_that_does_not_exist_is_tried_and_not_made(tmp_path: Path) -> None:
    assert probe_address(str(tmp_path / "mirror" / "deeper")).refusals == {}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.integration
def test_a_bucket_is_tried_by_its_address(service: StorageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", service.url)
    assert probe_address(f"gs://{service.bucket}/prefix").refusals == {}
    assert service.keys() == []
    assert "there is no bucket nowhere; create it" in probe_address("gs://nowhere").refusals["create"]
