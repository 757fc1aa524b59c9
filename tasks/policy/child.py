"""Work on weights runs in a child process: a clean GPU after a crash, signals that work, an interpreter of its own.

The parent writes a request file and starts `python -m MODULE REQUEST`; the child answers with one JSON object a line
on the stdout that it was given, while whatever libraries print goes to a log file. The child's stdin is a pipe that
nobody writes to: its end tells the child that the parent is gone, however the parent died.
"""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, NoReturn

from pydantic import BaseModel

from schemas.errors import GateRefused, InputError, Interrupted, TucanoError
from schemas.progress import Progress

REPOSITORY = Path(__file__).resolve().parents[2]
SECONDS_TO_END = 28
"""What a child has to save its work: a Spot machine gives 30."""
THREADS: Final = "2"
"""Threads of a child's arithmetic on a CPU, unless the environment names another number: they decide how sums are
split, and so the bits of the weights. As many as the cores, a training that goes on elsewhere would end differently."""

Metrics = Callable[[int, dict[str, float]], None]
OnAlarm = Callable[[str, int, str], None]
"""Told the name of an alarm, the step that it began with, and what is wrong."""


class Channel:
    """The child's way to speak to its parent, from any of its threads."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def progress(self, done: int, total: int, text: str) -> None:
        """Report units done and in all: a `Progress`."""
        self._send({"progress": [done, total, text]})

    def metrics(self, step: int, values: dict[str, float]) -> None:
        """Report the metrics of a step."""
        self._send({"metrics": [step, values]})

    def alarm(self, name: str, step: int, text: str) -> None:
        """Report that something is wrong, though the work goes on."""
        self._send({"alarm": [name, step, text]})

    def failure(self, message: str, exit_code: int) -> None:
        """Report why the work ended."""
        self._send({"failure": [message, exit_code]})

    def _send(self, message: dict[str, Any]) -> None:
        with self._lock:
            self._stream.write(json.dumps(message) + "\n")
            self._stream.flush()


@dataclass
class _Heard:
    """What a child said last."""

    done: int = 0
    total: int = 0
    failure: tuple[str, int] | None = None
    """Why it ended, and its exit code."""


def run_child(
    module: str,
    request: BaseModel,
    folder: Path,
    *,
    interpreter: Path | None,
    progress: Progress,
    metrics: Metrics | None = None,
    alarm: OnAlarm | None = None,
    started: Callable[["subprocess.Popen[str]"], object] | None = None,
) -> None:
    """Run `module` on the request and wait for its end.

    Args:
        module: A module whose `__main__` calls `serve`.
        request: What to do; written to `folder` as JSON.
        folder: Where the request and the child's log are kept.
        interpreter: The Python of the trainer's environment; the running one where None.
        progress: Told what the child reports.
        metrics: Told the metrics of each step, where somebody wants them.
        alarm: Told each alarm, where somebody wants them.
        started: Given the child, for whoever ends it from another thread.

    Raises:
        TucanoError: The child failed, with its own sentence and exit code, or was killed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = module.rsplit(".", 1)[-1]
    request_file = folder / f"{name}.request.json"
    request_file.write_text(request.model_dump_json(), encoding="utf-8")
    log_file = folder / f"{name}.log"
    command = [str(interpreter or sys.executable), "-m", module, str(request_file)]
    with log_file.open("ab") as log:
        try:
            # A session of its own keeps the terminal's Ctrl-C from reaching the child before the parent decides.
            child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_environment(),
                text=True,
                start_new_session=True,
            )
        except OSError as error:
            raise InputError(f"the trainer's interpreter {command[0]} cannot be started: {error}") from error
    try:
        if started is not None:
            started(child)
        heard = _listen(child, progress, metrics, alarm)
        exit_code = child.wait()
    except BaseException:
        end_group(child, SECONDS_TO_END)
        raise
    if exit_code:
        _raise_failure(name, exit_code, heard, log_file)


def _environment() -> dict[str, str]:
    threads = os.environ.get("OMP_NUM_THREADS", THREADS)
    return {
        "MKL_NUM_THREADS": threads,
        **os.environ,
        "OMP_NUM_THREADS": threads,
        "PYTHONPATH": str(REPOSITORY),
        "TOKENIZERS_PARALLELISM": "false",
    }


def _listen(
    child: "subprocess.Popen[str]", progress: Progress, metrics: Metrics | None, alarm: OnAlarm | None
) -> _Heard:
    heard = _Heard()
    for line in child.stdout or ():
        if not line.endswith("\n"):
            # The last words of one that was killed in the middle of them.
            break
        message = json.loads(line)
        if "progress" in message:
            heard.done, heard.total = message["progress"][:2]
            progress(*message["progress"])
        elif "metrics" in message and metrics is not None:
            metrics(*message["metrics"])
        elif "alarm" in message and alarm is not None:
            alarm(*message["alarm"])
        elif "failure" in message:
            heard.failure = (message["failure"][0], message["failure"][1])
    return heard


def end_group(leader: "subprocess.Popen[Any]", seconds: float) -> None:
    """End a process that leads a session of its own, and what it started: asked first, killed after so many seconds."""
    if leader.poll() is not None:
        return
    ask_to_end(leader)
    deadline = time.monotonic() + seconds
    while leader.returncode is None:
        # A second signal, whatever it raises here, must not cost what the child is saving.
        with suppress(BaseException):
            _wait_or_kill(leader, deadline)


def _wait_or_kill(leader: "subprocess.Popen[Any]", deadline: float) -> None:
    try:
        leader.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        os.killpg(leader.pid, signal.SIGKILL)
        leader.wait()


def ask_to_end(leader: "subprocess.Popen[Any]") -> None:
    """Send SIGTERM to a process that leads a session of its own, and to what it started."""
    if leader.poll() is None:
        os.killpg(leader.pid, signal.SIGTERM)


def _raise_failure(name: str, exit_code: int, heard: _Heard, log_file: Path) -> NoReturn:
    if exit_code < 0:
        died = signal.Signals(-exit_code).name
        raise Interrupted(
            f"{name} was killed by {died} at {heard.done} of {heard.total}; run the same command again to go on from "
            "what was finished"
        )
    message, code = heard.failure or (f"{name} ended with exit code {exit_code}; its log is {log_file}", 1)
    kinds: dict[int, type[TucanoError]] = {2: InputError, 3: GateRefused, 4: Interrupted}
    raise kinds.get(code, TucanoError)(message)


def serve(work: Callable[[Path, Channel], None], arguments: Sequence[str] | None = None) -> NoReturn:
    """Be the child: do the work of the request file named on the command line, and exit by its outcome."""
    channel = _open_channel()
    threading.Thread(target=die_with_parent, daemon=True).start()
    (request_file,) = arguments if arguments is not None else sys.argv[1:]
    try:
        work(Path(request_file), channel)
    except TucanoError as error:
        channel.failure(str(error), error.exit_code)
        sys.exit(error.exit_code)
    except Exception as error:  # noqa: BLE001 - the last resort of a process, which tells its parent
        traceback.print_exc()
        if _is_full_disk(error):
            channel.failure("the disk is full; free some space and run the same command again", InputError.exit_code)
            sys.exit(InputError.exit_code)
        channel.failure(f"unexpected {type(error).__name__}; the traceback is in {_log_beside(request_file)}", 1)
        sys.exit(1)
    sys.exit(0)


def _is_full_disk(error: Exception) -> bool:
    """Recognise a full disk also where a library wraps the system's error in one of its own."""
    return getattr(error, "errno", None) in {errno.ENOSPC, errno.EDQUOT} or os.strerror(errno.ENOSPC) in str(error)


def _log_beside(request_file: str) -> str:
    return request_file.removesuffix(".request.json") + ".log"


def _open_channel() -> Channel:
    """Keep the real stdout for messages and send everybody else's prints to the log."""
    own = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return Channel(os.fdopen(own, "w", encoding="utf-8"))


def die_with_parent() -> None:
    """Wait for the end of stdin, which is the end of the parent, and exit at once; runs in a thread of its own."""
    sys.stdin.read()
    os._exit(Interrupted.exit_code)
