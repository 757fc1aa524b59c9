"""A retraining that signals and the loss of its server end at once, and that resumes."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from schemas.errors import Interrupted
from tests.small_pipeline import PROFILE, REPOSITORY

pytestmark = [pytest.mark.e2e, pytest.mark.long]

SECONDS_TO_LEAVE = 25.0
OF_PREFECT = re.compile(r"[0-9:.]+ \| ")
"""Beginning of a line of Prefect's log, which no user sees: with each failure it has a traceback."""
# The run's own log says of each stage that it begins.
ENVIRONMENT = {"COLUMNS": "1000", "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "INFO", "PREFECT_LOGGING_COLORS": "false"}


@dataclass(frozen=True)
class Blow:
    """Signals to a run, so many seconds after a line of its log."""

    after: str
    """Regular expression of the line."""
    seconds: float
    number: signal.Signals
    to_server: bool = False
    """Whether Prefect's server is struck, and not the command."""
    then: signal.Signals | None = None
    """Signal to the command, a second later."""


BLOWS = (
    Blow("audit: begins", 0.5, signal.SIGTERM),
    Blow("audit: audit .* in ", 0.0, signal.SIGINT),
    Blow("base: begins", 1.0, signal.SIGKILL, to_server=True),
    Blow("audit: skipped", 0.0, signal.SIGSTOP, to_server=True, then=signal.SIGTERM),
    Blow("base: ./", 0.5, signal.SIGTERM),
)


def test_a_retraining_ends_at_any_signal_and_where_its_server_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the audit the sandbox's callbacks lost signals; without its server a run went on for minutes."""
    for name, value in (ENVIRONMENT | {"PYTHONPATH": str(REPOSITORY)}).items():
        monkeypatch.setenv(name, value)
    # A shell's job in the background ignores Ctrl-C, and so would what it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, blow in enumerate(BLOWS):
        exit_code, seconds, said = strike(tmp_path / "state", blow, tmp_path / f"{number}.log")
        assert exit_code == Interrupted.exit_code, (blow, said)
        assert seconds < SECONDS_TO_LEAVE, (blow, said)
        assert "run the same command again" in said[-1], (blow, said)
        shown = [line for before, line in pairwise(["", *said]) if not OF_PREFECT.match(before)]
        assert "Traceback" not in "\n".join(shown), (blow, said)


def strike(root: Path, blow: Blow, log: Path) -> tuple[int, float, list[str]]:
    """Run until the line and strike; return the exit code, the seconds until the end, and what was said meanwhile."""
    command = [sys.executable, "-P", "-m", "flows", "retrain", "--profile", str(PROFILE), "--state", str(root)]
    with log.open("w", encoding="utf-8") as said:
        run = psutil.Popen(command, stderr=said, stdout=subprocess.DEVNULL, env=os.environ, start_new_session=True)
    while not re.search(blow.after, log.read_text(encoding="utf-8")):
        assert run.poll() is None, (blow, log.read_text(encoding="utf-8")[-3000:])
        time.sleep(0.05)
    time.sleep(blow.seconds)
    known = len(log.read_text(encoding="utf-8").splitlines())
    began = time.monotonic()
    servers = [each for each in run.children() if "flows.runtime.prefect_server" in each.cmdline()]
    (servers[0] if blow.to_server else run).send_signal(blow.number)
    if blow.then is not None:
        time.sleep(1)
        run.send_signal(blow.then)
    exit_code = run.wait(4 * SECONDS_TO_LEAVE)
    return exit_code, time.monotonic() - began, log.read_text(encoding="utf-8").splitlines()[known:]
