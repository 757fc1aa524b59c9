"""Children that begin with the large libraries loaded: forked from a process that has imported them once.

Importing torch, transformers, PEFT and TRL takes each child some seven seconds, and a retraining on a laptop has seven
children. On a machine with a GPU each child is a new process: there one library must be imported before the others
(Unsloth), and what another begins cannot be forked (CUDA).
"""

import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, NoReturn, cast

from schemas.python_process import collect_rarely

LIBRARIES: Final = (
    "torch",
    "bitsandbytes",
    "peft",
    "trl.trainer.grpo_trainer",
    "transformers.trainer",
    "transformers.models.qwen2.modeling_qwen2",
)
THREADS_VARIABLE: Final = "OMP_NUM_THREADS"
"""Variable with the threads of arithmetic, which torch reads when it is imported; a fork sets them by a call."""
READ_LATER: Final = ("PREFECT", "MLFLOW", "PYTEST")
"""Prefixes of variables that no library of `LIBRARIES` reads when it is imported."""
OF_A_CHILD: Final = frozenset({THREADS_VARIABLE, "MKL_NUM_THREADS"})
"""Variables that children of one server may have otherwise."""
LONGEST_MESSAGE: Final = 1 << 17


def load_less() -> None:
    """Prepare a process for the import of large libraries: what it never uses is not imported."""
    collect_rarely()
    # Transformers would import it, which MLflow brings, for a way of generating that nothing here uses.
    sys.modules["sklearn"] = None  # type: ignore[assignment]


class ForkedChild:
    """Child of a fork server, used as a `subprocess.Popen`: the leader of a session of its own."""

    def __init__(self, stdin: int, stdout: int, status: int) -> None:
        self.stdin = os.fdopen(stdin, "w", encoding="utf-8")
        self.stdout: IO[str] = os.fdopen(stdout, encoding="utf-8")
        self.returncode: int | None = None
        self._status = os.fdopen(status, "rb", buffering=0)
        self._lock = threading.Lock()
        number = self._status.readline()
        if not number:
            raise EOFError("the server ended without a child")
        self.pid = int(number)

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while the child runs."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the child's end and return its exit code, negative for a signal."""
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return code

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            with self._lock:
                # Another thread may have read it; without a code, who would have sent it was killed with the child.
                if self.returncode is None:
                    self.returncode = int(self._status.readline() or -signal.SIGKILL)
        return self.returncode


class ForkServer:
    """Process that imports the libraries, and forks a child for each request until its owner ends."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment: Final = dict(environment)
        """Environment in which the libraries are imported."""
        self.shared: Final = {name: value for name, value in self.environment.items() if name not in OF_A_CHILD}
        """The part of it that its children have too."""
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self.environment,
                start_new_session=True,
            )
        # By itself it would first load all libraries, where its owner ends meanwhile; its children go on.
        weakref.finalize(self, self._process.kill)

    def is_alive(self) -> bool:
        """Return whether it runs; a killed one leaves the next child to another."""
        return self._process.poll() is None

    def fork(self, command: Sequence[str], environment: Mapping[str, str], log: IO[bytes]) -> ForkedChild:
        """Start a child."""
        message = {"command": list(command), "environment": dict(environment), "folder": str(Path.cwd())}
        (stdin, our_stdin), (our_stdout, stdout), (our_status, status) = os.pipe(), os.pipe(), os.pipe()
        try:
            socket.send_fds(self._requests, [json.dumps(message).encode()], [stdin, stdout, log.fileno(), status])
        except OSError:
            for end in (our_stdin, our_stdout, our_status):
                os.close(end)
            raise
        finally:
            for end in (stdin, stdout, status):
                os.close(end)
        return ForkedChild(our_stdin, our_stdout, our_status)


_current: Final[list[ForkServer]] = []
"""The process's server; one of another environment ends once it is not referred to any more."""
_starting = threading.Lock()


def start_server(environment: Mapping[str, str]) -> ForkServer | None:
    """Return the process's server, which loads the libraries from its start on; None where nothing can be forked."""
    has_gpu = any(Path("/dev").glob("nvidia[0-9]*")) or Path("/dev/kfd").exists()
    if sys.platform != "linux" or has_gpu:
        return None
    read_on_import = {name: value for name, value in environment.items() if not name.startswith(READ_LATER)}
    with _starting:
        # Libraries that this process imports, such as those of the curate stage, add variables of their own.
        if not _current or not _current[0].is_alive() or not _current[0].shared.items() <= read_on_import.items():
            _current[:] = [ForkServer(read_on_import)]
        return _current[0]


def fork_child(command: Sequence[str], environment: Mapping[str, str], log: IO[bytes]) -> ForkedChild | None:
    """Start `python -m` with a module and its arguments as a fork; return None where a process must be started.

    The first call takes until the libraries are loaded.
    """
    server = start_server(environment)
    if server is None:
        return None
    try:
        return server.fork(command, environment, log)
    except (OSError, EOFError):
        # A process of its own says in its log what cannot be imported.
        return None


def _serve() -> None:
    """Fork children until the owner has ended."""
    load_less()
    for library in LIBRARIES:
        importlib.import_module(library)
    requests = socket.socket(fileno=os.dup(0))
    # Whoever watches a child ends by itself.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, LONGEST_MESSAGE, 4)
        if not message:
            os._exit(0)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            requests.close()
            _watch(json.loads(message), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _watch(request: dict[str, Any], stdin: int, stdout: int, stderr: int, status: int) -> NoReturn:
    """Fork the child and send its exit code: only its parent learns it."""
    child = os.fork()
    if child == 0:
        os.setsid()
        os.write(status, b"%d\n" % os.getpid())
        for descriptor, place in ((stdin, 0), (stdout, 1), (stderr, 2)):
            os.dup2(descriptor, place)
            os.close(descriptor)
        os.close(status)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        _set_threads(os.environ[THREADS_VARIABLE])
        module, *arguments = request["command"]
        sys.argv = [module, *arguments]
        # As `python -m` does: the module becomes `__main__` and stays it to the interpreter's end.
        cast("Any", runpy)._run_module_as_main(module)  # noqa: SLF001
        sys.exit()
    for descriptor in (stdin, stdout, stderr):
        os.close(descriptor)
    _, how = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(how)
    try:
        os.write(status, b"%d\n" % code)
    except BrokenPipeError:
        # Nobody is left who asks.
        os._exit(1)
    os._exit(0)


def _set_threads(named: str) -> None:
    """Compute with so many threads; as in OpenMP it may be a list, by depth of nesting, and nonsense is ignored."""
    import torch

    outer = named.split(",", maxsplit=1)[0].strip()
    if outer.isdecimal() and int(outer):
        torch.set_num_threads(int(outer))


if __name__ == "__main__":
    _serve()
