"""Results: one document on stdout alone, texts that command no terminal, and output folders whole or not at all."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from flows.cli.result import MAX_CELL, cell, new_folder, show
from schemas.errors import InputError, Interrupted


def test_with_json_stdout_is_the_document_alone(capsys: pytest.CaptureFixture[str]) -> None:
    show({"é": 1}, ["a sentence"], as_json=True)
    printed = capsys.readouterr()
    assert (json.loads(printed.out), printed.err) == ({"é": 1}, "a sentence\n")


def test_a_text_commands_no_terminal_and_a_long_one_is_cut() -> None:
    assert cell("\x1b[2J [bold]:ok:") == "␛[2J [bold]:ok:"
    assert cell("x" * (MAX_CELL + 1)) == "x" * MAX_CELL + "…"


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("name", ["out", "some/where/out"])
def test_a_filled_folder_is_there_at_the_end_and_after_a_failure_nothing_is(tmp_path: Path, name: str) -> None:
    for failure in (InputError, OSError, SystemExit):
        with pytest.raises(failure), new_folder(tmp_path / name) as draft:
            (draft / "half").touch()
            raise failure
        assert everything(tmp_path) == []
    with new_folder(tmp_path / name) as draft:
        (draft / "file").write_text("content")
        assert not (tmp_path / name).exists()
    assert (tmp_path / name / "file").read_text() == "content"
    assert [path for path in everything(tmp_path) if "." in path] == []


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


def test_drafts_of_a_killed_command_are_removed_and_nothing_else(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = tmp_path / f".out-{ended.pid}-0123abcd"
    names = (f".out-{os.getpid()}-0123abcd", ".out-mine", f".out-{ended.pid}-notes", ".out2-1-0123abcd")
    others = [tmp_path / name for name in names]
    for folder in (left, *others):
        (folder / "data").mkdir(parents=True)
    with new_folder(tmp_path / "out") as draft:
        (draft / "file").write_text("x")
    assert not left.exists()
    assert all(folder.exists() for folder in others)


def test_a_report_is_replaced_once_the_new_one_is_whole_and_a_file_of_anybody_elses_never(tmp_path: Path) -> None:
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
    (tmp_path / "file").touch()
    for name in ("out", "file"):
        with pytest.raises(InputError, match="no empty folder"), new_folder(tmp_path / name, {"page.html"}):
            pytest.fail("the block must not run")
    assert everything(tmp_path) == ["file", "out", "out/mine", "out/page.html"]
