"""What every object store promises."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tasks.checkpoints.object_store import ObjectMissing, ObjectStore

EVERY_BYTE = bytes(range(256)) * 40


def test_what_is_put_is_read_and_downloaded(store: ObjectStore, tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(EVERY_BYTE)
    assert store.put_new("blobs/sha256/from-file", tmp_path / "weights.bin")
    assert store.put_new("blobs/sha256/from-bytes", EVERY_BYTE)
    for key in ("blobs/sha256/from-file", "blobs/sha256/from-bytes"):
        assert store.read(key) == EVERY_BYTE
        store.download(key, tmp_path / "back")
        assert (tmp_path / "back").read_bytes() == EVERY_BYTE


def test_an_empty_object_is_an_object(store: ObjectStore) -> None:
    assert store.put_new("pins/best/00000010", b"")
    assert store.read("pins/best/00000010") == b""
    assert store.keys("pins/") == ["pins/best/00000010"]


def test_an_object_is_never_overwritten(store: ObjectStore, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"other")
    assert store.put_new("manifests/1", b"first")
    assert not store.put_new("manifests/1", b"second")
    assert not store.put_new("manifests/1", tmp_path / "other")
    assert store.read("manifests/1") == b"first"


def test_a_large_file_is_put_whole_and_never_overwritten(store: ObjectStore, tmp_path: Path) -> None:
    # Google's client sends what is larger than 8 MiB in another way.
    large = EVERY_BYTE * 900
    (tmp_path / "large").write_bytes(large)
    assert store.put_new("blobs/sha256/large", tmp_path / "large")
    assert store.read("blobs/sha256/large") == large
    assert not store.put_new("blobs/sha256/large", tmp_path / "large")


def test_of_several_writers_one_wins(store: ObjectStore) -> None:
    contents = [f"writer {number}".encode() for number in range(8)]
    with ThreadPoolExecutor(len(contents)) as pool:
        created = list(pool.map(lambda content: store.put_new("manifests/1", content), contents))
    assert created.count(True) == 1
    assert store.read("manifests/1") == contents[created.index(True)]


def test_keys_are_listed_by_prefix_in_order(store: ObjectStore) -> None:
    assert store.keys("") == []
    for key in ("b/2", "a/10", "a/2", "ab/1"):
        store.put_new(key, b"x")
    assert store.keys("a/") == ["a/10", "a/2"]
    assert store.keys("a") == ["a/10", "a/2", "ab/1"]
    assert store.keys("nothing") == []
    assert store.keys("") == ["a/10", "a/2", "ab/1", "b/2"]


def test_a_deleted_object_is_gone_and_can_be_put_again(store: ObjectStore) -> None:
    store.put_new("a/1", b"old")
    store.put_new("a/2", b"other")
    store.delete("a/1")
    store.delete("a/1")
    assert store.keys("") == ["a/2"]
    assert store.put_new("a/1", b"new")
    assert store.read("a/1") == b"new"


def test_a_missing_object_is_named(store: ObjectStore, tmp_path: Path) -> None:
    with pytest.raises(ObjectMissing, match="a/1"):
        store.read("a/1")
    with pytest.raises(ObjectMissing, match="a/1"):
        store.download("a/1", tmp_path / "back")
    assert not (tmp_path / "back").exists()
