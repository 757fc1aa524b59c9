"""A command ends with one sentence and exit code 4 whatever a signal interrupts, and helpers do not hang it."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from flows.runtime.signals import SECONDS_BETWEEN_LOOKS, interruptible
from schemas.errors import Interrupted
from tests.tasks.policy.test_child import is_alive

pytestmark = pytest.mark.integration

SENTENCE = "interrupted; run the same command again"
HEARS = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
"""A job in the background, such as a suite's, starts what is deaf to Ctrl-C."""
BEGIN = f"""{HEARS}
import sqlite3, subprocess, sys, time
from pathlib import Path
from flows.cli.tucano import _end
from flows.runtime import signals
from flows.runtime.console import stage_progress
from schemas.errors import TucanoError
signals.COMMAND_SECONDS = 2.0

def main(work):
    try:
        with signals.interruptible({SENTENCE!r}):
            work()
    except TucanoError as error:
        _end(error)

def ready():
    print("ready", flush=True)
"""


def _start(work: str) -> "subprocess.Popen[str]":
    """Start a command that does the work, and return once it says that it is ready."""
    program = f"{BEGIN}\n{work}\nmain(work)\n"
    started = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n", started.communicate()[1]
    return started


def _ended(started: "subprocess.Popen[str]") -> tuple[int, str]:
    try:
        _, said = started.communicate(timeout=30)
    finally:
        started.kill()
    return started.returncode, " ".join(said.split())


SANDBOX = """
def work():
    sandbox = sqlite3.connect(":memory:")
    sandbox.set_progress_handler(lambda: sum(range(200)) and 0, 10)
    with stage_progress("audit") as progress:
        for row in range(100_000):
            if row == 1:
                ready()
            try:
                sandbox.execute(
                    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 3000) "
                    "SELECT max(x) FROM n"
                ).fetchall()
            except sqlite3.Error:
                # As the sandbox of generated SQL does: the answer is wrong.
                pass
            progress(row, 100_000, "")
"""
DEAF = """
def work():
    ready()
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass
"""
CALLBACK = """
from prefect.utilities.engine import capture_sigterm

class Deleted:
    def __del__(self):
        ready()
        time.sleep(60)

def work():
    with capture_sigterm():
        Deleted()
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_that_the_interpreter_drops_prints_no_traceback(number: signal.Signals) -> None:
    """An audit that was interrupted in a callback printed "Exception ignored in" above its sentence."""
    started = _start(CALLBACK)
    os.kill(started.pid, number)
    assert _ended(started) == (4, f"tucano: {SENTENCE}")


@pytest.mark.parametrize(("work", "number"), [(SANDBOX, signal.SIGTERM), (DEAF, signal.SIGINT)])
def test_a_lost_signal_still_ends_the_command(work: str, number: signal.Signals) -> None:
    """SQLite answers "not authorized" in place of what a callback raises, and an audit went on for eight minutes."""
    started = _start(work)
    time.sleep(0.3)
    os.kill(started.pid, number)
    assert _ended(started) == (4, f"tucano: {SENTENCE}")


def test_a_signal_between_the_parts_of_a_command_ends_it_too() -> None:
    program = (
        f"{HEARS}import time\n"
        "from flows.cli import tucano\n"
        "tucano.polish = lambda *_: lambda **_: (print('ready', flush=True), time.sleep(60))\n"
        "tucano.main()\n"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    os.kill(started.pid, signal.SIGTERM)
    assert _ended(started) == (4, f"tucano: {SENTENCE}")


def test_a_block_that_loses_the_signals_exception_and_comes_to_its_end_is_interrupted() -> None:
    with pytest.raises(Interrupted, match=SENTENCE), interruptible(SENTENCE):
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        # Time for the thread to learn of it, too.
        time.sleep(1)


def test_a_failure_after_a_signal_is_the_interruption() -> None:
    """A request to a server that has ended meanwhile, say."""
    work = "def work():\n    ready()\n    try:\n        time.sleep(60)\n    finally:\n        raise OSError('gone')"
    started = _start(work)
    os.kill(started.pid, signal.SIGTERM)
    assert _ended(started) == (4, f"tucano: {SENTENCE}")


def test_the_loss_of_a_helper_ends_the_command_though_it_waits() -> None:
    started = _start(
        "def work():\n"
        "    helper = subprocess.Popen(['sleep', '0.5'])\n"
        "    with signals.ended_by(lambda: None if helper.poll() is None else 'the helper ended'):\n"
        "        ready()\n"
        "        time.sleep(60)"
    )
    assert _ended(started) == (4, "tucano: the helper ended")


def test_a_stopped_helper_goes_on() -> None:
    started = _start(
        "def work():\n"
        "    helper = subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "    ready()\n"
        "    time.sleep(60)"
    )
    (helper,) = psutil.Process(started.pid).children()
    helper.suspend()
    time.sleep(SECONDS_BETWEEN_LOOKS)
    deadline = time.monotonic() + 20
    while helper.status() == psutil.STATUS_STOPPED and time.monotonic() < deadline:
        time.sleep(0.1)
    assert helper.status() != psutil.STATUS_STOPPED
    os.kill(started.pid, signal.SIGTERM)
    code, said = _ended(started)
    assert code == 4
    assert f"process {helper.pid} (sleep) was stopped by a signal, and goes on" in said
    helper.kill()


CHILD = """
def work():
    from schemas.progress import silent
    from tasks.policy.child import run_child
    from tests.tasks.policy.test_child import MODULE, Request

    def deaf(*_):
        print("ready", flush=True)
        while True:
            try:
                time.sleep(60)
            except BaseException:
                pass

    run_child(MODULE, Request(do={do!r}), Path({folder!r}), interpreter=None, progress=deaf)
"""


@pytest.mark.parametrize("do", ["wait", "save"])
def test_children_are_asked_to_end_and_may_save_though_the_main_thread_is_deaf(do: str, tmp_path: Path) -> None:
    started = _start(CHILD.format(do=do, folder=str(tmp_path)))
    child = int((tmp_path / "pid").read_text(encoding="utf-8"))
    os.kill(started.pid, signal.SIGTERM)
    assert _ended(started) == (4, f"tucano: {SENTENCE}")
    assert not is_alive(child)
    assert (tmp_path / "saved").exists() == (do == "save")


def test_a_signal_while_the_command_is_loaded_is_one_sentence() -> None:
    """The finder stands for the imports of a second, in which the signal falls."""
    program = f"""{HEARS}
import os, sys
class Struck:
    def find_spec(self, name, path=None, target=None):
        if name == "flows.cli.tucano":
            os.kill(os.getpid(), {int(signal.SIGINT)})
sys.meta_path.insert(0, Struck())
from flows.cli import main
main()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=30)
    assert (ended.returncode, ended.stderr.count("\n")) == (4, 1)
    assert "interrupted" in ended.stderr
