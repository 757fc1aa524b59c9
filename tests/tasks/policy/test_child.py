"""The child process: its messages arrive, its failures become ours, and it never outlives its parent."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from pydantic import BaseModel

from schemas.errors import GateRefused, InputError, Interrupted, TucanoError
from schemas.progress import silent
from tasks.policy.child import run_child

MODULE = "tests.tasks.policy.example_child"


class Request(BaseModel):
    do: str


def _run(do: str, folder: Path) -> list[tuple[int, int, str]]:
    seen: list[tuple[int, int, str]] = []
    run_child(
        MODULE,
        Request(do=do),
        folder,
        interpreter=None,
        progress=lambda done, total, text: seen.append((done, total, text)),
    )
    return seen


def test_progress_metrics_and_alarms_arrive_and_prints_go_to_the_log(tmp_path: Path) -> None:
    metrics: list[tuple[int, dict[str, float]]] = []
    alarms: list[tuple[str, int, str]] = []
    seen: list[tuple[int, int, str]] = []
    run_child(
        MODULE,
        Request(do="work"),
        tmp_path,
        interpreter=None,
        progress=lambda done, total, text: seen.append((done, total, text)),
        metrics=lambda step, values: metrics.append((step, values)),
        alarm=lambda name, step, text: alarms.append((name, step, text)),
    )
    assert seen == [(1, 2, "half"), (2, 2, "whole")]
    assert metrics == [(1, {"loss": 0.5})]
    assert alarms == [("ceiling", 1, "too long")]
    assert "a library's chatter" in (tmp_path / "example_child.log").read_text(encoding="utf-8")


def test_what_nobody_wants_to_hear_does_not_disturb(tmp_path: Path) -> None:
    assert _run("work", tmp_path) == [(1, 2, "half"), (2, 2, "whole")]


@pytest.mark.parametrize(
    ("do", "kind", "said"),
    [
        ("input", InputError, "the input is bad"),
        ("gate", GateRefused, "the gate says no"),
        ("bug", TucanoError, r"unexpected ZeroDivisionError; the traceback is in .*example_child\.log"),
        ("killed", Interrupted, "killed by SIGKILL at 0 of 0; run the same command again"),
    ],
)
def test_a_failure_keeps_its_sentence_and_its_kind(do: str, kind: type[TucanoError], said: str, tmp_path: Path) -> None:
    with pytest.raises(TucanoError, match=said) as caught:
        _run(do, tmp_path)
    assert type(caught.value) is kind


def test_the_traceback_of_a_bug_is_in_the_log(tmp_path: Path) -> None:
    with pytest.raises(TucanoError):
        _run("bug", tmp_path)
    assert "ZeroDivisionError" in (tmp_path / "example_child.log").read_text(encoding="utf-8")


def test_an_interpreter_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere/python cannot be started"):
        run_child(MODULE, Request(do="work"), tmp_path, interpreter=Path("nowhere/python"), progress=silent)


@pytest.mark.parametrize(("named", "expected"), [(None, "2"), ("1", "1")])
def test_the_bits_of_the_weights_are_not_the_number_of_cores(
    named: str | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many threads there are decides how sums are split: a training would end differently on another machine."""
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if named is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", named)
    assert _run("threads", tmp_path) == [(0, 1, f"{expected} {expected}")]


def test_an_interrupted_parent_ends_its_child(tmp_path: Path) -> None:
    def interrupt(done: int, total: int, text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_child(MODULE, Request(do="wait"), tmp_path, interpreter=None, progress=interrupt)
    assert not _is_alive(_child_of(tmp_path))


def test_a_child_dies_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path\n"
        "from schemas.progress import silent\n"
        "from tasks.policy.child import run_child\n"
        "from tests.tasks.policy.test_child import MODULE, Request\n"
        f"run_child(MODULE, Request(do='wait'), Path({str(tmp_path)!r}), interpreter=None, progress=silent)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program])
    while not (tmp_path / "pid").exists():
        time.sleep(0.05)
    child = _child_of(tmp_path)
    assert _is_alive(child)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    psutil.wait_procs([psutil.Process(child)] if _is_alive(child) else [], timeout=20)
    assert not _is_alive(child)


def _child_of(folder: Path) -> int:
    return int((folder / "pid").read_text(encoding="utf-8"))


def _is_alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
