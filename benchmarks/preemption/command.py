"""`tucano retrain` that is struck from outside: signals at every change of stage, kills, and helpers that fail."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
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
DONE: Final = frozenset({0, 3})
OF_PREFECT: Final = re.compile(r"[0-9:.]+ \| ")
"""Beginning of a line of Prefect's log, which no user sees: with each failure it has a traceback."""
TIMED: Final = frozenset(
    {
        *((f"answer-{name}", "timing.json") for name in ("base", "published", "tuned")),
        *(("evaluate", f"report.{ending}") for ending in ("html", "json", "md")),
        ("promote", "README.md"),
    }
)
"""Files of stages that hold seconds or times, and so differ from run to run."""
COLUMNS: Final = ("signal", "under way", "s", "exit code", "said", "as it has to")

Helper = Literal["server", "fork server", "child"]


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


@dataclass(frozen=True)
class Struck:
    """A run that was struck."""

    blow: Blow
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

    def __init__(self, root: Path, overrides: Sequence[str]) -> None:
        """Start it."""
        # A shell's job in the background ignores Ctrl-C, and so would what it starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        settings = [part for override in (f"state.root={root}", *overrides) for part in ("--set", override)]
        self._process = psutil.Popen(
            [sys.executable, "-P", "-m", "flows", "retrain", "--profile", PROFILE, *settings],
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
        with self._news:
            self._news.wait_for(lambda: self._has(pattern) or not self._reader.is_alive(), SECONDS_OF_A_RUN)
            return self._has(pattern)

    def _has(self, pattern: str) -> bool:
        return any(re.search(pattern, line) for line in self.lines)

    def under_way(self) -> str:
        """Return the stages that have begun and not ended, and the last report."""
        begun = [found[1] for line in self.lines if (found := BEGINS.search(line))]
        ended = {found[1] for line in self.lines if (found := ENDED.search(line))}
        stages = [name for name in begun if name not in ended] or ["between stages" if begun else "starting"]
        reports = [line for line in self.lines if re.match(rf"{re.escape(stages[-1])}: \d+/\d+", line)]
        return reports[-1][:60] if reports else ", ".join(stages)

    def strike(self, blow: Blow) -> None:
        """Send the signals."""
        whom = self._process if blow.helper is None else self._helper(blow.helper)
        if blow.number is signal.SIGKILL and blow.helper is None:
            # One that has ended has none.
            for each in [
                self._process,
                *(self._process.children(recursive=True) if self._process.is_running() else ()),
            ]:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
        else:
            whom.send_signal(blow.number)
        if blow.then is not None:
            time.sleep(1)
            self._process.send_signal(blow.then)

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

    def next_line(self, known: int, seconds: float) -> None:
        """Wait for a line beyond those known, or the end."""
        with self._news:
            self._news.wait_for(lambda: len(self.lines) > known or not self._reader.is_alive(), seconds)


def strike(root: Path, overrides: Sequence[str], blow: Blow, *, ends: bool) -> Struck | None:
    """Run until the moment, strike, and wait: for the end, or for the next line; None where it ended before.

    A run that goes on is then killed.

    Args:
        root: The state folder.
        overrides: Settings.
        blow: The blow.
        ends: Whether it has to end.
    """
    command = Command(root, overrides)
    if not command.comes_to(blow.after):
        return None
    time.sleep(blow.seconds)
    under_way, known = command.under_way(), len(command.lines)
    began = time.monotonic()
    command.strike(blow)
    if not ends:
        command.next_line(known, SECONDS_OF_A_RUN)
    # Longer than is allowed, to see how long.
    code = command.ends(4 * SECONDS_TO_LEAVE if ends else 1.0)
    seconds = time.monotonic() - began
    said = command.lines[known:]
    if code is None:
        command.strike(Blow("", 0.0, signal.SIGKILL))
    last = said[-1 if code is not None else 0] if said else ""
    # These lines alone tell why a blow was not obeyed.
    root.parent.mkdir(parents=True, exist_ok=True)
    with root.with_name(f"{root.name}.log").open("a", encoding="utf-8") as log:
        log.writelines(f"{line}\n" for line in (f"== {blow}", *said))
    shown = [line for before, line in pairwise(["", *said]) if not OF_PREFECT.match(before)]
    return Struck(blow, under_way, seconds, code, last, any("Traceback" in line for line in shown))


def finish(root: Path, overrides: Sequence[str]) -> Mapping[str, str]:
    """Run to the end, and return its `digests`.

    Raises:
        SystemExit: It failed.
    """
    command = Command(root, overrides)
    code = command.ends(SECONDS_OF_A_RUN)
    if code not in DONE:
        command.strike(Blow("", 0.0, signal.SIGKILL))
        raise SystemExit(f"the run ended with {code}: {command.lines[-5:]}")
    return digests(root)


def digests(root: Path) -> Mapping[str, str]:
    """Return the digest of each stage's files but those that hold times, and the registry's versions and aliases."""
    records = map(json.loads, (file.read_bytes() for file in (root / "artifacts").glob("*/*/record.json")))
    files = (((record["stage"], name), digest) for record in records for name, digest in record["files"].items())
    found = {"/".join(file): str(digest) for file, digest in files if file not in TIMED}
    with closing(sqlite3.connect(root / "mlflow" / "mlflow.db")) as database:
        versions = database.execute("SELECT version FROM model_versions ORDER BY version").fetchall()
        aliases = database.execute("SELECT alias, version FROM registered_model_aliases ORDER BY alias").fetchall()
    return {**found, "versions": str(versions), "aliases": str(aliases)}


def signals() -> list[Blow]:
    """Return twenty signals: at each change of stage, in each child, and while the server is dead or stopped."""
    term, ctrl_c = signal.SIGTERM, signal.SIGINT
    return [
        Blow("retraining with profile", 0.5, term),
        Blow("retraining with profile", 6.0, ctrl_c),
        Blow("synthesize: begins", 0.1, term),
        Blow("curate: begins", 0.0, ctrl_c),
        Blow("audit: begins", 0.5, term),
        Blow("audit: begins", 2.0, ctrl_c),
        Blow("audit: audit .* in ", 0.0, term),
        Blow("base: begins", 0.0, term),
        Blow("base: begins", 1.0, ctrl_c),
        Blow("base: ./", 1.0, term),
        Blow("train: begins", 0.0, ctrl_c),
        Blow("train: .*preflight", 1.0, term),
        Blow("train: [1-9]/", 0.5, term),
        Blow("merge-tuned: begins", 0.2, term),
        Blow("answer-base: begins", 2.0, term),
        Blow("answer-tuned: begins", 4.0, ctrl_c),
        Blow("evaluate: begins", 0.3, term),
        Blow("promote: begins", 0.2, term),
        Blow("curate: skipped", 0.0, signal.SIGKILL, "server", then=term),
        Blow("curate: skipped", 0.0, signal.SIGSTOP, "server", then=ctrl_c),
    ]


def kills() -> list[Blow]:
    """Return twelve SIGKILLs of all processes: in training, answers, evaluation and promotion."""
    kill = signal.SIGKILL
    return [
        Blow("train: [1-9]/", 0.3, kill),
        Blow("train: [1-9]/", 3.0, kill),
        Blow("train: [2-9]/", 1.0, kill),
        Blow("train: begins", 20.0, kill),
        Blow("merge-tuned: begins", 1.0, kill),
        Blow("answer-base: begins", 3.0, kill),
        Blow("answer-tuned: begins", 2.0, kill),
        Blow("answer-tuned: begins", 6.0, kill),
        Blow("evaluate: begins", 0.1, kill),
        Blow("evaluate: begins", 1.0, kill),
        Blow("promote: begins", 0.05, kill),
        Blow("promote: begins", 0.5, kill),
    ]


def failures() -> list[tuple[Blow, bool]]:
    """Return helpers that are killed or stopped, and whether the run has to end for it."""
    kill, stop = signal.SIGKILL, signal.SIGSTOP
    moments = ("synthesize: begins", "audit: begins", "base: ./", "train: begins")
    found = [(Blow(moment, 0.5, kill, "server"), True) for moment in moments]
    found += [(Blow(moment, 0.5, stop, "server"), False) for moment in moments]
    found += [(Blow("curate: begins", 0.5, kill, "fork server"), False)]
    found += [(Blow("curate: begins", 0.5, stop, "fork server"), False)]
    found += [(Blow(moment, 0.5, kill, "child"), True) for moment in ("base: ./", "train: begins")]
    found += [(Blow(moment, 0.5, stop, "child"), False) for moment in ("base: ./", "train: begins")]
    return found


def as_row(blow: Blow, struck: Struck | None) -> tuple[str, ...]:
    """Return a row of `COLUMNS` but the last."""
    how = f"{blow.number.name} {blow.helper or ''}".strip() + (f", {blow.then.name}" if blow.then else "")
    if struck is None:
        return how, f"{blow.after} +{blow.seconds:g} s", "-", "-", "the run ended before"
    code = "goes on" if struck.exit_code is None else str(struck.exit_code)
    return how, struck.under_way, f"{struck.seconds:.1f}", code, struck.sentence[:80]


def verdict(blow: Blow, struck: Struck | None, *, ends: bool) -> str:
    """Return yes where a run ended as it has to, in time, with one sentence and exit code 4; or where it goes on."""
    if struck is None or struck.traceback or struck.seconds > SECONDS_TO_LEAVE:
        return "no"
    if (blow.number, blow.helper) == (signal.SIGKILL, None):
        return "yes" if struck.exit_code == -signal.SIGKILL else "no"
    if not ends:
        return "yes" if struck.exit_code is None else "no"
    is_told = "run the same command again" in struck.sentence
    return "yes" if struck.exit_code == Interrupted.exit_code and is_told else "no"
