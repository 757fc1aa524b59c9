"""A child of two processes: the first speaks for both, and neither outlives the other, the launcher or the parent."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from schemas.errors import Interrupted
from tasks.policy.child import ChildProcess, run_child
from tests.tasks.policy.test_child import Request, is_alive

MODULE = "tests.tasks.policy.example_ranks"
pytestmark = pytest.mark.integration


def _run(do: str, folder: Path) -> list[tuple[int, int, str]]:
    seen: list[tuple[int, int, str]] = []
    run_child(
        MODULE,
        Request(do=do),
        folder,
        interpreter=None,
        processes=2,
        progress=lambda done, total, text: seen.append((done, total, text)),
    )
    return seen


def test_the_first_process_speaks_and_both_work_each_with_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6")
    assert _run("environment CUDA_VISIBLE_DEVICES WORLD_SIZE LOCAL_RANK,work", tmp_path) == [(0, 1, "4,5 2 0")]
    assert "a library's chatter" in (tmp_path / "example_ranks.log").read_text(encoding="utf-8")


@pytest.mark.parametrize("struck", ["parent", "launcher"])
def test_a_killed_parent_leaves_no_process(struck: str, tmp_path: Path) -> None:
    program = (
        "from pathlib import Path\n"
        "from tests.tasks.policy.test_launch import _run\n"
        f"_run('wait,wait', Path({str(tmp_path)!r}))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    while len(_waiting(tmp_path)) < 2:
        assert parent.poll() is None, "the parent ended before both processes waited"
        time.sleep(0.05)
    (launcher,) = psutil.Process(parent.pid).children()
    processes = [launcher, *launcher.children()]
    assert {process.pid for process in processes[1:]} == _waiting(tmp_path)
    os.kill({"parent": parent.pid, "launcher": launcher.pid}[struck], signal.SIGKILL)
    parent.wait()
    _wait_for_all_to_end({process.pid for process in processes})


def test_sigterm_reaches_both(tmp_path: Path) -> None:
    started: list[ChildProcess] = []

    def ask_when_both_wait() -> None:
        while len(_waiting(tmp_path)) < 2:
            time.sleep(0.05)
        os.killpg(started[0].pid, signal.SIGTERM)

    threading.Thread(target=ask_when_both_wait, daemon=True).start()
    with pytest.raises(Interrupted):
        run_child(
            MODULE,
            Request(do="wait,wait"),
            tmp_path,
            interpreter=None,
            processes=2,
            progress=lambda *_: None,
            started=started.append,
        )
    _wait_for_all_to_end(_waiting(tmp_path))


def _waiting(folder: Path) -> set[int]:
    return {int(file.read_text(encoding="utf-8")) for file in folder.glob("*/pid")}


def _wait_for_all_to_end(pids: set[int]) -> None:
    """Wait as long as a test may take: how soon they end depends on what else the machine does."""
    while any(map(is_alive, pids)):
        time.sleep(0.05)
