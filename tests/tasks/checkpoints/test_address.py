"""A mirror by its address: the store that it names, or one sentence; and what that store must be able to do."""

from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.checkpoints.address import open_store, prove_rights, trainings
from tasks.checkpoints.object_store import ObjectStore, StoredObject
from tests.storage_server import StorageServer
from tests.tasks.checkpoints.conftest import MemoryStore


@pytest.fixture(params=["folder", "gs://checkpoints/some/prefix/"])
def address(
    request: pytest.FixtureRequest, service: StorageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", service.url)
    return str(tmp_path / "mirror") if request.param == "folder" else request.param


def test_the_trainings_are_those_that_the_mirror_has_anything_of(address: str) -> None:
    assert trainings(address) == []
    store, prefix = open_store(address)
    for key in (
        "second/manifests/00000001-00000001.json",
        "first/lease/00000001/00000000.json",
        "third/stretches/00000001-begin.json",
        "third/manifests/00000001-00000001.json",
        "blobs-only/blobs/sha256/abc",
        "manifests/of-no-training",
        "clock/abc",
    ):
        store.put_new(f"{prefix}{key}", b"x")
    assert trainings(address) == ["first", "second", "third"]


class CarelessStore(MemoryStore):
    """A place that lets every writer create an object, as if nobody had before."""

    def put_new(self, key: str, content: Path | bytes) -> StoredObject | None:
        self.objects.pop(key, None)
        return super().put_new(key, content)


def test_a_place_that_grants_all_is_left_as_it_was(store: ObjectStore) -> None:
    store.put_new("training/manifests/1", b"x")
    before = store.list("")
    prove_rights(store, "prefix/")
    assert store.list("") == before


def test_a_place_without_preconditions_is_refused_and_left_empty() -> None:
    store = CarelessStore()
    with pytest.raises(InputError, match="two machines could train at once; use a bucket"):
        prove_rights(store, "")
    assert store.objects == {}
