import os
from pathlib import Path

import pytest

from schemas.disk import synchronize


def test_a_file_and_a_folder_are_waited_for_and_nothing_stays_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"bytes")
    synced: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append((descriptor, os.fstat(descriptor).st_ino)))
    for path in (tmp_path / "file", tmp_path):
        synchronize(path)
        descriptor, found = synced.pop()
        assert found == path.stat().st_ino
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def test_what_is_not_there_cannot_be_waited_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        synchronize(tmp_path / "nothing")
