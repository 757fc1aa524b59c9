import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import InputError
from tasks.checkpoints.folder_store import FolderStore


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
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
