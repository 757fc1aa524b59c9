import errno
import fcntl
import os
import random
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import InputError
from tasks.checkpoints import folder_store
from tasks.checkpoints.files import CHUNK, crc32c
from tasks.checkpoints.folder_store import ABANDONED_AFTER, FolderStore


def test_remains_of_a_killed_writer_are_no_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(source: Path, target: Path) -> None:
        (tmp_path / ".incoming" / "torn").write_bytes(source.read_bytes()[:2])
        raise KeyboardInterrupt

    store = FolderStore(tmp_path)
    with monkeypatch.context() as kill, pytest.raises(KeyboardInterrupt):
        kill.setattr(os, "link", killed)
        store.put_new("manifests/1", b"whole")
    assert (tmp_path / ".incoming" / "torn").exists()
    assert store.list("") == []
    stored = store.put_new("manifests/1", b"whole")
    assert store.list("") == [stored]


def test_remains_of_a_killed_writer_are_removed_after_a_day(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    store.put_new("a", b"x")
    now = (tmp_path / "a").stat().st_mtime_ns
    for name, age in (("left", ABANDONED_AFTER + 10**9), ("under way", ABANDONED_AFTER - 10**11)):
        (tmp_path / ".incoming" / name).write_bytes(b"half")
        os.utime(tmp_path / ".incoming" / name, ns=(now - age, now - age))
    store.put_new("b", b"x")
    assert [path.name for path in (tmp_path / ".incoming").iterdir()] == ["under way"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_folder_that_cannot_be_written_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
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


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs Linux's device that is always full")
def test_a_disk_that_is_full_on_the_way_back_is_reported_and_leaves_no_file(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "mirror")
    store.put_new("a", bytes(1 << 20))
    (tmp_path / "back").symlink_to("/dev/full")
    with pytest.raises(InputError, match=r"back cannot be written \(No space left on device\); free space"):
        store.download("a", tmp_path / "back")
    assert not (tmp_path / "back").is_symlink()


def test_a_folder_that_may_not_be_read_is_reported_and_not_taken_for_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = os.scandir

    def refuse(folder: str) -> Any:
        if str(folder).endswith("manifests"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return scan(folder)

    store = FolderStore(tmp_path)
    store.put_new("training/manifests/1", b"x")
    monkeypatch.setattr(os, "scandir", refuse)
    for prefix in ("", "training/manifests/"):
        with pytest.raises(InputError, match=r"cannot be read \(Permission denied\)"):
            store.list(prefix)


def test_a_listing_reads_no_file_whose_checksum_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "setxattr"):
        pytest.skip("this platform keeps no notes on files")
    store = FolderStore(tmp_path)
    stored = [store.put_new("a", b"one"), store.put_new("b", b"two")]

    def refuse(path: Path) -> str:
        raise AssertionError(f"{path} is read")

    monkeypatch.setattr(folder_store, "crc32c", refuse)
    assert FolderStore(tmp_path).list("") == stored


def test_a_put_file_is_read_once_and_has_the_checksum_of_the_copied_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    content = random.Random(0).randbytes(3 * CHUNK + 1)
    (tmp_path / "file").write_bytes(content)
    expected = crc32c(tmp_path / "file")
    monkeypatch.setattr(os, "setxattr", refuse, raising=False)
    monkeypatch.setattr(folder_store, "crc32c", refuse)
    store = FolderStore(tmp_path / "mirror")
    for key, source in (("a", tmp_path / "file"), ("b", content)):
        stored = store.put_new(key, source)
        assert stored is not None
        assert (stored.crc32c, stored.size) == (expected, len(content))
        assert store.read(key) == content


def test_a_file_that_was_written_to_is_another_object_with_another_checksum(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    stored = store.put_new("a", b"one")
    assert stored is not None
    (tmp_path / "a").write_bytes(b"own")
    (now,) = store.list("")
    assert (now.crc32c, now.size) == (crc32c(tmp_path / "a"), 3)
    assert now.generation != stored.generation
    assert not store.delete(stored)
    assert store.delete(now)


def test_without_notes_on_files_the_listing_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(os, "setxattr", refuse, raising=False)
    store = FolderStore(tmp_path)
    stored = store.put_new("a/b", random.Random(0).randbytes(100_000))
    assert store.list("a") == [stored]


def test_the_time_of_creation_is_the_file_systems_whatever_this_process_believes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "beside").touch()
    before = (tmp_path / "beside").stat().st_mtime
    monkeypatch.setattr("time.time", lambda: before - 3600)
    monkeypatch.setattr("time.time_ns", lambda: int((before - 3600) * 1e9))
    stored = FolderStore(tmp_path).put_new("a", b"x")
    assert stored is not None
    assert 0 <= stored.created_at.timestamp() - before + 0.01 < 600


def test_an_object_that_is_put_while_a_deletion_waits_for_its_turn_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
