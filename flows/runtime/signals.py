"""Ctrl-C and SIGTERM: end a command or a run cleanly, with one sentence and exit code 4."""

import os
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from schemas.errors import Interrupted


@contextmanager
def interruptible(sentence: str) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM inside the block into `Interrupted`.

    Args:
        sentence: The message, such as what to do now.

    Raises:
        Interrupted: One of them came.
    """
    with sigterm_as_ctrl_c():
        try:
            yield
        except KeyboardInterrupt:
            raise Interrupted(sentence) from None


@contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """Raise `KeyboardInterrupt` on SIGTERM too; Prefect passes a SIGTERM on to the handler that it found."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def fresh_hint(fresh: bool) -> Iterator[None]:
    """Add to `Interrupted` the hint to drop --fresh, without which the same command would start all over again.

    Raises:
        Interrupted: The block was interrupted.
    """
    try:
        yield
    except Interrupted as interrupted:
        if not fresh:
            raise
        raise Interrupted(f"{interrupted}; leave out --fresh then, or all is made again") from None


@contextmanager
def first_sigterm_only() -> Iterator[None]:
    """Handle the first SIGTERM only: the sender's own end sends another, which must not cut the saving short."""
    handler = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return

    def once(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, lambda *_: None)
        handler(number, frame)

    signal.signal(signal.SIGTERM, once)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)


@contextmanager
def sigterm_on_parent_exit() -> Iterator[None]:
    """Treat the end of the parent process as a SIGTERM, until there is nothing left to save.

    A worker that is asked to end kills its child processes. Where the child is `prefect flow-run execute`, the run
    itself, in a process group of its own, lives on and has time to save its work.
    """
    left = threading.Event()
    # Prefect starts runs with a pipe that nothing writes to; by hand, stdin is a terminal or a file.
    kind = os.fstat(sys.__stdin__.fileno()).st_mode if sys.__stdin__ is not None else 0
    if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
        threading.Thread(target=_terminate_at_end_of_stdin, args=[left], daemon=True).start()
    try:
        yield
    finally:
        left.set()


def _terminate_at_end_of_stdin(left: threading.Event) -> None:
    # Not `sys.stdin`: a thread that reads from it holds a lock that the interpreter needs to exit.
    while os.read(0, 1024):
        pass
    # Nothing reads this process's output any more, and rich exits the process on a broken pipe.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    if not left.is_set():
        os.kill(os.getpid(), signal.SIGTERM)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
