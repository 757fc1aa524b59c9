import errno
import os
from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.checkpoints.folder_store import FolderStore


def test_what_a_killed_writer_left_is_no_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(source: Path, target: Path) -> None:
        (tmp_path / ".incoming" / "torn").write_bytes(source.read_bytes()[:2])
        raise KeyboardInterrupt

    store = FolderStore(tmp_path)
    with monkeypatch.context() as kill, pytest.raises(KeyboardInterrupt):
        kill.setattr(os, "link", killed)
        store.put_new("manifests/1", b"whole")
    assert (tmp_path / ".incoming" / "torn").exists()
    assert store.keys("") == []
    assert store.put_new("manifests/1", b"whole")
    assert store.keys("") == ["manifests/1"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    store = FolderStore(tmp_path / "mirror")
    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", refuse)
        with pytest.raises(InputError, match=os.strerror(number)):
            store.put_new("a", b"x")
    assert store.keys("") == []
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert store.put_new("a", b"x")


def test_a_file_in_the_folders_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "mirror").write_text("in the way")
    with pytest.raises(InputError, match="mirror cannot be written"):
        FolderStore(tmp_path / "mirror").put_new("a/b", b"x")
