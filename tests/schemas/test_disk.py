"""Files on the disk: whole or as they were, read from any editor, and scratch folders that are gone."""

import codecs
import errno
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from schemas import disk
from schemas.config.profiles import load_config
from schemas.config.train_sections import PolicyConfig
from schemas.disk import locked, replace_whole, scratch_folder, write_whole
from schemas.errors import InputError, Interrupted, is_of_full_disk
from schemas.store.column_map import read_column_map
from tasks.policy.published import given_template


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
    with locked(file), pytest.raises(Interrupted, match=r"sheet\.csv is in use .* run the same"), locked(file):
        pass
    with locked(file):
        pass


PROFILE = '# opções\nextends = "local"\nseed = 7\n[train]\nmax_steps = 3\n'
MAP = '# avaliações\n[[prompts]]\npath = "a.csv"\ntask = "sentiment"\n[prompts.columns]\nreview = "opinião"\n'
TEMPLATE = "{# conversação #}\n{{ messages }}\n"

Reader = Callable[[Path], Any]
READERS: tuple[tuple[str, Reader], ...] = (
    (PROFILE, lambda path: load_config(str(path))),
    (MAP, lambda path: read_column_map(path).prompts[0].columns),
    (TEMPLATE, lambda path: given_template(PolicyConfig(name="any/model", chat_template=path))),
)


@pytest.mark.parametrize(("text", "read"), READERS, ids=["profile", "column map", "chat template"])
def test_a_file_of_any_editor_is_read_as_it_was_written_and_another_encoding_refused(
    text: str, read: Reader, tmp_path: Path
) -> None:
    path = tmp_path / "file.toml"
    path.write_bytes(text.encode())
    expected = read(path)
    for written in (
        *(marks * codecs.BOM_UTF8 + text.encode() for marks in (1, 2)),
        text.replace("\n", "\r\n").encode(),
    ):
        path.write_bytes(written)
        assert read(path) == expected
    for encoding, said in (("utf-16", " has a NUL byte"), ("utf-32-le", " has a NUL"), ("cp1252", ": line 1 is not")):
        path.write_bytes(text.encode(encoding))
        with pytest.raises(InputError, match=rf"file\.toml{said}"):
            read(path)


HOLD = """
import sys, time
from pathlib import Path
from schemas.disk import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    (folder / "socket").touch()
    print(folder, flush=True)
    time.sleep(600)
"""


@contextmanager
def another_process(parent: Path) -> Iterator[tuple[Path, "subprocess.Popen[str]"]]:
    """Run a process that has a scratch folder, and give both."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(parent)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Path(process.stdout.readline().strip()), process
        finally:
            process.kill()


def test_it_is_empty_private_and_gone_after_the_block(tmp_path: Path) -> None:
    with scratch_folder(tmp_path) as folder:
        assert list(folder.iterdir()) == []
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "file").touch()
    assert list(tmp_path.iterdir()) == []


def test_folders_of_killed_processes_go_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    with another_process(tmp_path) as (kept, _), another_process(tmp_path) as (left, process):
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (left / "socket").exists()
        for folder in (kept, left):
            os.utime(folder, (0, 0))
        with scratch_folder(tmp_path):
            assert not left.exists()
            assert (kept / "socket").exists()


def _caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        sqlite3.OperationalError("database or disk is full"),
        RuntimeError("PytorchStreamWriter failed writing file: No space left on device"),
        _caused(ValueError("the server said 500"), sqlite3.OperationalError("database or disk is full")),
    ],
)
def test_a_full_disk_is_known_by_its_error_or_its_cause(error: Exception) -> None:
    assert is_of_full_disk(error)
