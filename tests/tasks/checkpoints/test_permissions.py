"""What a place lets this machine do is found out with one object, of which nothing stays."""

from pathlib import Path

from tasks.checkpoints.object_store import ObjectStore, StoredObject
from tasks.checkpoints.permissions import probe
from tests.tasks.checkpoints.conftest import MemoryStore


class CarelessStore(MemoryStore):
    """A place that lets every writer create an object, as if nobody had before."""

    def put_new(self, key: str, content: Path | bytes) -> StoredObject | None:
        self.objects.pop(key, None)
        return super().put_new(key, content)


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
