import os
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas import disk
from schemas.disk import locked, replace_whole, write_whole
from schemas.errors import Interrupted


def test_a_replaced_file_keeps_permissions_and_link(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"before")
    file.chmod(0o640)
    link.symlink_to(file)
    replace_whole(link, b"after")
    assert (file.read_bytes(), file.stat().st_mode & 0o777, link.is_symlink()) == (b"after", 0o640, True)


@pytest.mark.parametrize("write", [replace_whole, lambda path, content: write_whole(path, content.decode())])
def test_a_file_is_as_it_was_where_another_does_not_reach_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path, bytes], None]
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"before")

    def die(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", die)
    with pytest.raises(OSError, match="No space"):
        write(file, b"after")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"before"]


def test_a_file_that_another_command_changes_is_waited_for_and_then_said_to_be_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "SECONDS_TO_WAIT", 0.05)
    file = tmp_path / "sheet.csv"
    with (
        locked(file),
        pytest.raises(Interrupted, match=r"sheet\.csv is in use .* run the same"),
        locked(file),
    ):
        pass
    with locked(file):
        pass
