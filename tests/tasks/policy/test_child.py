"""The child process: its messages arrive, its failures become ours, and it never outlives its parent."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import BaseModel

from schemas.errors import GateRefused, InputError, Interrupted, TucanoError
from tasks.policy import child
from tasks.policy.child import run_child

pytestmark = pytest.mark.integration

MODULE = "tests.tasks.policy.example_child"


class Request(BaseModel):
    do: str


@pytest.fixture(params=["a process of its own", "a fork"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the test's children in both ways, which nobody can tell apart."""
    if request.param == "a fork":
        monkeypatch.setattr(child, "MAY_FORK", "tests.")


def _run(do: str, folder: Path, **named: Any) -> list[tuple[int, int, str]]:
    seen: list[tuple[int, int, str]] = []
    run_child(
        MODULE,
        Request(do=do),
        folder,
        interpreter=None,
        progress=lambda done, total, text: seen.append((done, total, text)),
        **named,
    )
    return seen


@pytest.mark.usefixtures("either_way")
def test_progress_metrics_and_alarms_arrive_and_prints_go_to_the_log(tmp_path: Path) -> None:
    metrics: list[tuple[int, dict[str, float]]] = []
    alarms: list[tuple[str, int, str]] = []
    seen = _run(
        "work",
        tmp_path,
        metrics=lambda step, values: metrics.append((step, values)),
        alarm=lambda name, step, text: alarms.append((name, step, text)),
    )
    assert seen == [(1, 2, "half"), (2, 2, "whole")]
    assert metrics == [(1, {"loss": 0.5})]
    assert alarms == [("ceiling", 1, "too long")]
    assert "a library's chatter" in (tmp_path / "example_child.log").read_text(encoding="utf-8")


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize(
    ("do", "kind", "said"),
    [
        ("input", InputError, "the input is bad"),
        ("gate", GateRefused, "the gate says no"),
        ("bug", TucanoError, r"unexpected ZeroDivisionError; the traceback is in .*example_child\.log"),
        ("memory", InputError, "the memory is full; end what else uses the GPU, or take a machine with more memory"),
        ("disk", InputError, r"the disk of \S+ ran full \(\d+ MB free now\); free some space and run"),
        ("killed", Interrupted, "killed by SIGKILL at 0 of 0; run the same command again"),
    ],
)
def test_a_failure_keeps_its_sentence_and_its_kind(do: str, kind: type[TucanoError], said: str, tmp_path: Path) -> None:
    with pytest.raises(TucanoError, match=said) as caught:
        _run(do, tmp_path)
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("visible", "expected"), [(None, "0"), ("3,1", "3"), ("GPU-5ebe9f43,GPU-ac33420d", "GPU-5ebe9f43"), ("", "")]
)
def test_a_child_sees_one_gpu_and_no_rank(visible: str | None, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two in sight, transformers' Trainer wraps the model in DataParallel, which TRL refuses with a traceback."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    for name in child.PLACES:
        monkeypatch.setenv(name, "1")
    environment = child._environment(2)
    assert environment["CUDA_VISIBLE_DEVICES"] == expected
    assert not child.PLACES & environment.keys()


@pytest.mark.usefixtures("either_way")
def test_an_interrupted_parent_ends_its_child(tmp_path: Path) -> None:
    def interrupt(done: int, total: int, text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_child(MODULE, Request(do="wait"), tmp_path, interpreter=None, progress=interrupt)
    assert not is_alive(_child_of(tmp_path))


@pytest.mark.usefixtures("either_way")
def test_a_child_dies_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path\n"
        "from tasks.policy import child\n"
        f"child.MAY_FORK = {child.MAY_FORK!r}\n"
        "from schemas.progress import silent\n"
        "from tasks.policy.child import run_child\n"
        "from tests.tasks.policy.test_child import MODULE, Request\n"
        f"run_child(MODULE, Request(do='wait'), Path({str(tmp_path)!r}), interpreter=None, progress=silent)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program])
    while not (tmp_path / "pid").exists():
        time.sleep(0.05)
    started = [_child_of(tmp_path), *(process.pid for process in psutil.Process(parent.pid).children(recursive=True))]
    assert all(map(is_alive, started))
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    while any(map(is_alive, started)):
        time.sleep(0.05)


def _child_of(folder: Path) -> int:
    return int((folder / "pid").read_text(encoding="utf-8"))


def is_alive(pid: int) -> bool:
    """Return whether a process runs: one that nobody waited for is none any more."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
