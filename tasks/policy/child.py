"""Child processes for work on weights: a clean GPU after a crash, working signals, a separate interpreter.

The parent writes a request file and starts `python -m MODULE REQUEST`; the child answers with one JSON object per line
on its original stdout, while all output of libraries goes to a log file. The child's stdin is a pipe without a writer:
its end shows the child that the parent is gone, however the parent died.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, NoReturn

from pydantic import BaseModel

from schemas.errors import GateRefused, InputError, Interrupted, TucanoError, full_disk_error, is_of_full_disk
from schemas.progress import Progress
from schemas.python_process import safe_environment
from schemas.source import REPOSITORY
from schemas.timeouts import PARENT_SECONDS
from tasks.policy.batch import is_of_memory, machine_device
from tasks.policy.fork_server import THREADS_VARIABLE, ForkedChild, fork_child, load_less, start_server

MAY_FORK: Final = "tasks."
"""Begin of the names of the modules that use what a fork has loaded; a benchmark's may need a process of its own."""
THREADS: Final = 2
"""Threads of a child's arithmetic on a CPU, unless the environment sets another number: they may decide how sums are
split, and so the bits of the weights. With one thread per core, a training resumed on another machine could end
differently."""
PLACES: Final = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE"})
"""Torch launcher's variables that describe a process; the parent's values must not reach its child."""

Metrics = Callable[[int, dict[str, float]], None]
OnAlarm = Callable[[str, int, str], None]
"""Called with the name of an alarm, the step of its begin, and a description."""


ChildProcess = subprocess.Popen[Any] | ForkedChild
"""Child process that leads a session of its own."""


class Channel:
    """Channel from the child to its parent, usable from any of its threads."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def progress(self, done: int, total: int, text: str) -> None:
        """Report units done and the total: a `Progress`."""
        self._send({"progress": [done, total, text]})

    def metrics(self, step: int, values: dict[str, float]) -> None:
        """Report the metrics of a step."""
        self._send({"metrics": [step, values]})

    def alarm(self, name: str, step: int, text: str) -> None:
        """Report a problem while the work continues."""
        self._send({"alarm": [name, step, text]})

    def device(self, name: str) -> None:
        """Report the device on which the work was done."""
        self._send({"device": name})

    def failure(self, message: str, exit_code: int) -> None:
        """Report why the work ended."""
        self._send({"failure": [message, exit_code]})

    def _send(self, message: dict[str, Any]) -> None:
        with self._lock:
            self._stream.write(json.dumps(message) + "\n")
            self._stream.flush()


_running: Final[set[ChildProcess]] = set()
"""Children that `run_child` waits for."""
_asked: Final[set[ChildProcess]] = set()
"""Those of them that were asked to end."""


@dataclass
class _Heard:
    """Last messages of a child."""

    done: int = 0
    total: int = 0
    device: str | None = None
    """The device of its machine; None if it loaded no weights."""
    failure: tuple[str, int] | None = None
    """Reason of its end, and its exit code."""


def expect_children() -> None:
    """Let the libraries of children load in the background, where children of this interpreter are forks."""
    start_server(_environment(THREADS))


def run_child(
    module: str,
    request: BaseModel,
    folder: Path,
    *,
    interpreter: Path | None,
    threads: int = THREADS,
    progress: Progress,
    metrics: Metrics | None = None,
    alarm: OnAlarm | None = None,
    started: Callable[[ChildProcess], object] | None = None,
) -> str | None:
    """Run `module` on the request, wait for its end, and return its device; None if it loaded no weights.

    A child that failed raises its own sentence with its exit code, and one that was killed `Interrupted`.
    """
    name = module.rsplit(".", 1)[-1]
    request_file = folder / f"{name}.request.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        request_file.write_text(request.model_dump_json(), encoding="utf-8")
    except OSError as error:
        if not is_of_full_disk(error):
            raise
        raise full_disk_error(folder, error) from error
    log_file = folder / f"{name}.log"
    with log_file.open("ab") as log:
        child = _start([module, str(request_file)], interpreter, _environment(threads), log)
    try:
        _running.add(child)
        if started is not None:
            started(child)
        heard = _listen(child.stdout or (), progress, metrics, alarm)
        exit_code = child.wait()
    except BaseException:
        end_group(child, PARENT_SECONDS)
        raise
    finally:
        _running.discard(child)
        _asked.discard(child)
    if exit_code:
        _raise_failure(name, exit_code, heard, log_file)
    return heard.device


def _start(
    work: Sequence[str], interpreter: Path | None, environment: Mapping[str, str], log: IO[bytes]
) -> ChildProcess:
    if interpreter is None and work[0].startswith(MAY_FORK):
        forked = fork_child(work, environment, log)
        if forked is not None:
            return forked
    command = [str(interpreter or sys.executable), "-m", *work]
    try:
        # A separate session keeps the terminal's Ctrl-C from reaching the child before the parent decides.
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment,
            text=True,
            start_new_session=True,
        )
    except OSError as error:
        raise InputError(f"the trainer's interpreter {command[0]} cannot be started: {error}") from error


def _environment(threads: int) -> dict[str, str]:
    named = os.environ.get(THREADS_VARIABLE, str(threads))
    return {
        "MKL_NUM_THREADS": named,
        **{name: value for name, value in safe_environment().items() if name not in PLACES},
        THREADS_VARIABLE: named,
        # One GPU, the first that is visible: TRL would spread each batch over a second.
        "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0],
        # TRL reports each created trainer to the hub; no data about a team's runs may be sent anywhere.
        "HF_HUB_DISABLE_TELEMETRY": "1",
        # A child reports to its parent, and TRL would import MLflow: a fifth of a trainer's start.
        "DISABLE_MLFLOW_INTEGRATION": "TRUE",
        "PYTHONPATH": str(REPOSITORY),
        "TOKENIZERS_PARALLELISM": "false",
    }


def _listen(messages: Iterable[str], progress: Progress, metrics: Metrics | None, alarm: OnAlarm | None) -> _Heard:
    heard = _Heard()
    for line in messages:
        if not line.endswith("\n"):
            # The last line of a killed child may be incomplete.
            break
        ((kind, said),) = json.loads(line).items()
        if kind == "progress":
            heard.done, heard.total = said[:2]
            progress(*said)
        elif kind == "device":
            heard.device = said
        elif kind == "failure":
            heard.failure = heard.failure or (said[0], said[1])
        elif (listener := metrics if kind == "metrics" else alarm) is not None:
            listener(*said)
    return heard


def end_group(leader: ChildProcess, seconds: float) -> None:
    """End a process that leads its own session, with its descendants: SIGTERM first, SIGKILL after `seconds`."""
    if leader.poll() is not None:
        return
    ask_to_end(leader)
    deadline = time.monotonic() + seconds
    while leader.returncode is None:
        # A second signal, whatever it raises here, must not interrupt the child's saving.
        with suppress(BaseException):
            try:
                leader.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                _signal_group(leader, signal.SIGKILL)
                leader.wait()


def ask_to_end(leader: ChildProcess) -> None:
    """Send SIGTERM to a process that leads its own session, and to its descendants; what is stopped goes on for it."""
    if leader.poll() is None:
        _signal_group(leader, signal.SIGTERM)
        _signal_group(leader, signal.SIGCONT)


def ask_children_to_end() -> bool:
    """Ask each child of `run_child` to end, once, and return whether any still runs; usable from any thread."""
    for child in _running - _asked:
        _asked.add(child)
        ask_to_end(child)
    return any(child.poll() is None for child in tuple(_running))


def _signal_group(leader: ChildProcess, number: signal.Signals) -> None:
    # `poll` misses the end while another thread waits for the process, which may have ended since.
    with suppress(ProcessLookupError):
        os.killpg(leader.pid, number)


def _raise_failure(name: str, exit_code: int, heard: _Heard, log_file: Path) -> NoReturn:
    if exit_code < 0 and heard.failure is None:
        died = signal.Signals(-exit_code).name
        raise Interrupted(
            f"{name} was killed by {died} at {heard.done} of {heard.total}; run the same command again to resume from "
            "what was finished"
        )
    message, code = heard.failure or (f"{name} ended with exit code {exit_code}; its log is {log_file}", 1)
    kinds: dict[int, type[TucanoError]] = {2: InputError, 3: GateRefused, 4: Interrupted}
    raise kinds.get(code, TucanoError)(message)


@contextmanager
def as_child() -> Iterator[tuple[Path, Channel]]:
    """Act as the child in the block: give it the request file of the command line and the channel to the parent.

    A block that fails ends the process with the outcome's exit code.
    """
    load_less()
    # The real stdout is for messages, and all other output goes to the log.
    own = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    channel = Channel(os.fdopen(own, "w", encoding="utf-8"))
    threading.Thread(target=die_with_parent, daemon=True).start()
    (request_file,) = sys.argv[1:]
    try:
        yield Path(request_file), channel
        if "torch" in sys.modules:
            channel.device(machine_device())
    except TucanoError as error:
        channel.failure(str(error), error.exit_code)
        sys.exit(error.exit_code)
    except Exception as error:  # noqa: BLE001 - the last resort of a process, which reports to its parent
        # A full disk has no room for the log either.
        with suppress(OSError):
            traceback.print_exc()
        if sentence := _full_machine(error, Path(request_file).parent):
            channel.failure(sentence, InputError.exit_code)
            sys.exit(InputError.exit_code)
        log = request_file.removesuffix(".request.json") + ".log"
        channel.failure(f"unexpected {type(error).__name__}; the traceback is in {log}", 1)
        sys.exit(1)


def _full_machine(error: Exception, folder: Path) -> str | None:
    """Return the sentence for a full disk or a full memory; None for any other error."""
    if is_of_full_disk(error):
        return str(full_disk_error(folder, error))
    if is_of_memory(error):
        return (
            "the memory is full; end what else uses the GPU, or take a machine with more memory, and run the same "
            "command again"
        )
    return None


def die_with_parent(stdin: IO[str] | None = None) -> None:
    """Wait for the end of stdin, which is the end of the parent, and exit at once; runs in its own thread."""
    (stdin or sys.stdin).read()
    os._exit(Interrupted.exit_code)
