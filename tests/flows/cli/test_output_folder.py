"""An output folder is there as a whole or not at all, and nothing else is touched."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from flows.cli.result import new_folder
from schemas.errors import InputError, Interrupted


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("name", ["out", "some/where/out"])
def test_what_was_filled_is_there_at_the_end(tmp_path: Path, name: str) -> None:
    with new_folder(tmp_path / name) as draft:
        (draft / "file").write_text("content")
        assert not (tmp_path / name).exists()
    assert (tmp_path / name / "file").read_text() == "content"
    assert [path for path in everything(tmp_path) if "." in path] == []


@pytest.mark.parametrize("failure", [InputError, OSError, SystemExit])
@pytest.mark.parametrize("name", ["out", "some/where/out"])
def test_a_failure_leaves_nothing(tmp_path: Path, name: str, failure: type[BaseException]) -> None:
    with pytest.raises(failure), new_folder(tmp_path / name) as draft:
        (draft / "half").touch()
        raise failure
    assert everything(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_leaves_nothing_and_is_reported(tmp_path: Path, number: int) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with (
        pytest.raises(Interrupted, match=r"nothing is in .*run the same command again"),
        new_folder(tmp_path / "out") as draft,
    ):
        (draft / "half").touch()
        signal.raise_signal(number)
    assert everything(tmp_path) == []
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    (tmp_path / "file").touch()
    for name in ("out", "file"):
        with pytest.raises(InputError, match="no empty folder"), new_folder(tmp_path / name):
            pytest.fail("the block must not run")
    assert everything(tmp_path) == ["file", "out", "out/mine"]


def test_what_a_killed_command_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = tmp_path / f".out-{ended.pid}-0123abcd"
    others = [
        tmp_path / name
        for name in (f".out-{os.getpid()}-0123abcd", ".out-mine", f".out-{ended.pid}-notes", ".out2-1-0123abcd")
    ]
    for folder in (left, *others):
        (folder / "data").mkdir(parents=True)
    with new_folder(tmp_path / "out") as draft:
        (draft / "file").write_text("x")
    assert not left.exists()
    assert all(folder.exists() for folder in others)


def test_what_can_be_made_again_is_replaced_once_the_new_one_is_whole(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.json").write_text("old")
    with pytest.raises(InputError), new_folder(tmp_path / "out", {"report.json"}):
        raise InputError("broken on the way")
    assert (tmp_path / "out" / "report.json").read_text() == "old"
    with new_folder(tmp_path / "out", {"report.json"}) as draft:
        (draft / "page.html").touch()
        assert (tmp_path / "out" / "report.json").read_text() == "old"
    assert everything(tmp_path) == ["out", "out/page.html"]
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(InputError, match="no empty folder"), new_folder(tmp_path / "out", {"page.html"}):
        pass
    assert everything(tmp_path) == ["out", "out/mine", "out/page.html"]
