"""What every object store promises."""

import base64
import errno
import fcntl
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import google_crc32c
import pytest

from schemas.errors import InputError
from tasks.checkpoints.folder_store import FolderStore
from tasks.checkpoints.object_store import ObjectMissing, ObjectStore, StoredObject
from tests.tasks.checkpoints.conftest import keys


def _put(store: ObjectStore, key: str, content: Path | bytes) -> StoredObject:
    stored = store.put_new(key, content)
    assert stored is not None
    return stored


def _checksum(content: bytes) -> str:
    return base64.b64encode(google_crc32c.value(content).to_bytes(4, "big")).decode()


def test_a_large_file_is_put_whole_and_never_overwritten(store: ObjectStore, tmp_path: Path) -> None:
    # Google's client sends what is larger than 8 MiB in another way, and this in two parts.
    large = os.urandom(40 << 20)
    (tmp_path / "large").write_bytes(large)
    stored = _put(store, "blobs/sha256/large", tmp_path / "large")
    assert (stored.size, stored.crc32c) == (len(large), _checksum(large))
    assert store.read("blobs/sha256/large") == large
    store.download("blobs/sha256/large", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == large
    assert store.put_new("blobs/sha256/large", tmp_path / "large") is None


def test_of_eight_writers_one_wins(store: ObjectStore) -> None:
    contents = [f"writer {number}".encode() for number in range(8)]
    start = threading.Barrier(len(contents))

    def write(content: bytes) -> StoredObject | None:
        start.wait()
        return store.put_new("manifests/1", content)

    with ThreadPoolExecutor(len(contents)) as pool:
        created = list(pool.map(write, contents))
    (winner,) = [number for number, stored in enumerate(created) if stored is not None]
    assert store.read("manifests/1") == contents[winner]
    assert store.list("") == [created[winner]]


def test_an_object_that_took_the_name_of_a_deleted_one_is_not_deleted_for_it(store: ObjectStore) -> None:
    generations = set()
    for _ in range(20):  # as fast as it goes: faster than a file system's clock ticks
        stale = _put(store, "manifests/1", b"same bytes")
        assert store.delete(stale)
        generations.add(stale.generation)
    assert len(generations) == 20
    newer = _put(store, "manifests/1", b"same bytes")
    assert not store.delete(stale)
    assert store.list("") == [newer]


def test_a_missing_object_is_named(store: ObjectStore, tmp_path: Path) -> None:
    _put(store, "a/2", b"x")
    for key in ("a/1", "b/c/1"):
        with pytest.raises(ObjectMissing, match=f"no object {key}"):
            store.read(key)
        with pytest.raises(ObjectMissing, match=f"no object {key}"):
            store.download(key, tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_erasing_leaves_nothing_behind_and_its_neighbours_alone(store: ObjectStore) -> None:
    for key in ("one/a", "one/b", "two/a"):
        _put(store, key, b"x")
    assert store.erase("one/") == 2
    assert keys(store) == ["two/a"]
    assert store.erase("one/") == 0


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_an_unwritable_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    store = FolderStore(tmp_path / "mirror")
    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", refuse)
        with pytest.raises(InputError, match=os.strerror(number)):
            store.put_new("a", b"x")
    assert store.list("") == []
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert store.put_new("a", b"x")


def test_an_object_put_while_a_deletion_waits_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, lock = FolderStore(tmp_path), fcntl.flock
    stale = store.put_new("a", b"old")
    assert stale is not None

    def overtaken(file: Any, operation: int) -> None:
        lock(file, operation)
        (tmp_path / "a").unlink()
        store.put_new("a", b"new")

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", overtaken)
        assert not store.delete(stale)
    assert store.read("a") == b"new"
