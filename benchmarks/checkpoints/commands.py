"""`tucano retrain` that is struck from outside: signals, and helpers that fail."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal

import psutil

from schemas.errors import Interrupted
from schemas.source import REPOSITORY

PROFILE: Final = "tests/e2e/small.toml"
SECONDS_TO_LEAVE: Final = 25.0
SECONDS_OF_A_RUN: Final = 1800.0
BEGINS: Final = re.compile(r"(\S+): begins$")
ENDED: Final = re.compile(r"(\S+): (?:\S+ [0-9a-f]{12} in |skipped)")
OF_PREFECT: Final = re.compile(r"[0-9:.]+ \| ")
"""Beginning of a line of Prefect's log, which no user sees: with each failure it has a traceback."""
COLUMNS: Final = ("signal", "under way", "s", "exit code", "said", "as it has to")

Helper = Literal["server", "fork server", "child"]
TERM, CTRL_C, KILL, STOP = signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGSTOP


@dataclass(frozen=True)
class Blow:
    """Signals to a run, so many seconds after a line of its log."""

    after: str
    """Regular expression of the line."""
    seconds: float
    number: signal.Signals
    helper: Helper | None = None
    """What of the run is struck; None for the command itself."""
    then: signal.Signals | None = None
    """Signal to the command, a second later."""
    ends: bool = True
    """Whether the run has to end; otherwise it has to go on."""


SIGNALS: Final = (
    Blow("retraining with profile", 0.5, TERM),
    Blow("retraining with profile", 6.0, CTRL_C),
    Blow("synthesize: begins", 0.1, TERM),
    Blow("curate: begins", 0.0, CTRL_C),
    Blow("audit: begins", 0.5, TERM),
    Blow("audit: begins", 2.0, CTRL_C),
    Blow("audit: audit .* in ", 0.0, TERM),
    Blow("base: begins", 0.0, TERM),
    Blow("base: begins", 1.0, CTRL_C),
    Blow("base: ./", 1.0, TERM),
    Blow("train: begins", 0.0, CTRL_C),
    Blow("train: .*preflight", 1.0, TERM),
    Blow("train: [1-9]/", 0.5, TERM),
    Blow("merge-tuned: begins", 0.2, TERM),
    Blow("answer-base: begins", 2.0, TERM),
    Blow("answer-tuned: begins", 4.0, CTRL_C),
    Blow("evaluate: begins", 0.3, TERM),
    Blow("promote: begins", 0.2, TERM),
    Blow("curate: skipped", 0.0, KILL, "server", then=TERM),
    Blow("curate: skipped", 0.0, STOP, "server", then=CTRL_C),
)
"""At each change of stage, in each child, and while the server is dead or stopped."""
_MOMENTS: Final = ("synthesize: begins", "audit: begins", "base: ./", "train: begins")
HELPERS: Final = (
    *(Blow(moment, 0.5, KILL, "server") for moment in _MOMENTS),
    *(Blow(moment, 0.5, STOP, "server", ends=False) for moment in _MOMENTS),
    *(Blow("curate: begins", 0.5, number, "fork server", ends=False) for number in (KILL, STOP)),
    *(Blow(moment, 0.5, KILL, "child") for moment in _MOMENTS[2:]),
    *(Blow(moment, 0.5, STOP, "child", ends=False) for moment in _MOMENTS[2:]),
)


@dataclass(frozen=True)
class Struck:
    """A run that was struck."""

    under_way: str
    """The stage that had begun and not ended, and its last report."""
    seconds: float
    """To the end, or to the next line of a run that goes on."""
    exit_code: int | None
    """None of a run that goes on."""
    sentence: str
    """The last line of a run that ended, or the next one of another."""
    traceback: bool


class Command:
    """A `tucano retrain` in a state folder."""

    def __init__(self, root: Path) -> None:
        """Start it."""
        # A shell's job in the background ignores Ctrl-C, and so would what it starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        command = [sys.executable, "-P", "-m", "flows", "retrain", "--profile", PROFILE, "--set", f"state.root={root}"]
        self._process = psutil.Popen(
            command,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            cwd=REPOSITORY,
            start_new_session=True,
            # The lines of the run's page too, which say of each stage that it begins.
            env={
                **os.environ,
                "COLUMNS": "1000",
                "PYTHONPATH": str(REPOSITORY),
                "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "INFO",
                "PREFECT_LOGGING_COLORS": "false",
            },
        )
        self.lines: list[str] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._process.stderr:
            with self._news:
                self.lines.append(line.rstrip())
                self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def comes_to(self, pattern: str) -> bool:
        """Wait for a line; return whether it came before the run ended."""

        def has_come() -> bool:
            return any(re.search(pattern, line) for line in self.lines)

        with self._news:
            self._news.wait_for(lambda: has_come() or not self._reader.is_alive(), SECONDS_OF_A_RUN)
            return has_come()

    def under_way(self) -> str:
        """Return the stages that have begun and not ended, or the last report of one."""
        begun = [found[1] for line in self.lines if (found := BEGINS.search(line))]
        ended = {found[1] for line in self.lines if (found := ENDED.search(line))}
        stages = [name for name in begun if name not in ended] or ["between stages" if begun else "starting"]
        reports = [line for line in self.lines if re.match(rf"{re.escape(stages[-1])}: \d+/\d+", line)]
        return reports[-1][:60] if reports else ", ".join(stages)

    def strike(self, blow: Blow) -> None:
        """Send the signals."""
        (self._process if blow.helper is None else self._helper(blow.helper)).send_signal(blow.number)
        if blow.then is not None:
            time.sleep(1)
            self._process.send_signal(blow.then)

    def kill(self) -> None:
        """Kill the command and all that it started."""
        with suppress(psutil.NoSuchProcess):
            for each in [*self._process.children(recursive=True), self._process]:
                with suppress(psutil.NoSuchProcess):
                    each.kill()

    def _helper(self, helper: Helper) -> psutil.Process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for each in self._process.children(recursive=helper == "child"):
                with suppress(psutil.Error):
                    line, is_ours = each.cmdline(), each.ppid() == self._process.pid
                    if helper == "child" and not is_ours and os.getsid(each.pid) == each.pid:
                        return each
                    if helper == "server" and "flows.runtime.prefect_server" in line:
                        return each
                    if helper == "fork server" and is_ours and "tasks.policy.fork_server" in line:
                        return each
            time.sleep(0.05)
        raise SystemExit(f"the run has no {helper}")

    def ends(self, seconds: float) -> int | None:
        """Wait for the end, and return the exit code; None where it goes on after so long."""
        try:
            code: int = self._process.wait(seconds)
        except psutil.TimeoutExpired:
            return None
        self._reader.join(5)
        return code

    def next_line(self, known: int) -> None:
        """Wait for a line beyond those known, or the end."""
        with self._news:
            self._news.wait_for(lambda: len(self.lines) > known or not self._reader.is_alive(), SECONDS_OF_A_RUN)


def strike(root: Path, blow: Blow) -> Struck | None:
    """Run in a state folder until the moment, strike, and wait: for the end, or for the next line.

    A run that goes on is then killed. None where the run ended before its moment.
    """
    command = Command(root)
    if not command.comes_to(blow.after):
        return None
    time.sleep(blow.seconds)
    under_way, known = command.under_way(), len(command.lines)
    began = time.monotonic()
    command.strike(blow)
    if not blow.ends:
        command.next_line(known)
    # Longer than is allowed, to see how long.
    code = command.ends(4 * SECONDS_TO_LEAVE if blow.ends else 1.0)
    seconds = time.monotonic() - began
    said = command.lines[known:]
    if code is None:
        command.kill()
    last = said[-1 if code is not None else 0] if said else ""
    # These lines alone tell why a blow was not obeyed.
    root.parent.mkdir(parents=True, exist_ok=True)
    with root.with_name(f"{root.name}.log").open("a", encoding="utf-8") as log:
        log.writelines(f"{line}\n" for line in (f"== {blow}", *said))
    shown = [line for before, line in pairwise(["", *said]) if not OF_PREFECT.match(before)]
    return Struck(under_way, seconds, code, last, any("Traceback" in line for line in shown))


def as_row(blow: Blow, struck: Struck | None) -> tuple[str, ...]:
    """Return a row of `COLUMNS`."""
    how = f"{blow.number.name} {blow.helper or ''}".strip() + (f", {blow.then.name}" if blow.then else "")
    if struck is None:
        return how, f"{blow.after} +{blow.seconds:g} s", "-", "-", "the run ended before", "no"
    code = "goes on" if struck.exit_code is None else str(struck.exit_code)
    return how, struck.under_way, f"{struck.seconds:.1f}", code, struck.sentence[:80], verdict(blow, struck)


def verdict(blow: Blow, struck: Struck | None) -> str:
    """Return yes where a run ended as it has to, in time, with one sentence and exit code 4; or where it goes on."""
    if struck is None or struck.traceback or struck.seconds > SECONDS_TO_LEAVE:
        return "no"
    if not blow.ends:
        return "yes" if struck.exit_code is None else "no"
    is_told = "run the same command again" in struck.sentence
    return "yes" if struck.exit_code == Interrupted.exit_code and is_told else "no"
