"""Ctrl-C and SIGTERM: end a command or a run cleanly, with one sentence and exit code 4, whenever they come.

Python raises at a signal in whatever the main thread does, and some code loses the exception: SQLite answers "not
authorized" where its callback was interrupted, weak references' callbacks drop it, and Prefect drops a Ctrl-C between
two stages. So the interpreter writes each signal to a socket too, a thread keeps it, and what the main thread passes
asks for it.
"""

import os
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

from schemas.errors import Interrupted, TucanoError
from schemas.timeouts import AFTER_CHILD_SECONDS, COMMAND_SECONDS, PARENT_SECONDS

SECONDS_BETWEEN_LOOKS: Final = 2.0
"""Pause between looks at the helper processes."""
SECONDS_OF_THE_THREAD: Final = 0.2
"""Time in which the thread has surely learned of a signal that made the main thread fail."""
ENDING: Final = frozenset({signal.SIGINT, signal.SIGTERM})

Loss = Callable[[], str | None]
"""Returns the sentence for the end of something that a run cannot do without; None while it lives."""


class Departure:
    """End of a command that a signal asked for, or that the loss of a helper process makes necessary."""

    def __init__(self, sentence: str) -> None:
        """Wait for a signal."""
        self.sentence = sentence
        self.asked = threading.Event()
        """Set once the command has to end."""
        self.losses: Final[list[Loss]] = []
        self.over = threading.Event()
        """Set when there is nothing left to end."""
        self._signals, self.written = socket.socketpair()
        self.written.setblocking(False)
        threading.Thread(target=self._watch, name="departure", daemon=True).start()

    def _watch(self) -> None:
        self._signals.settimeout(SECONDS_BETWEEN_LOOKS)
        while not self.over.is_set():
            try:
                numbers = self._signals.recv(64)
            except TimeoutError:
                continue_stopped()
                if self.is_lost():
                    self._leave(0.0)
                continue
            if not ENDING.isdisjoint(numbers):
                self._leave(COMMAND_SECONDS)
        self._signals.close()

    def is_lost(self) -> bool:
        """Return whether a helper has ended, whose sentence is then the command's."""
        lost = next((sentence for loss in self.losses if (sentence := loss()) is not None), None)
        if lost is not None and not self.asked.is_set():
            self.sentence = lost
        return lost is not None

    def _leave(self, seconds: float) -> None:
        """End the process unless the main thread does so in time: it may wait for what never answers."""
        # The main thread waits for this a moment only, and the import takes longer on a busy machine.
        self.asked.set()
        # Pydantic and psutil, which `tucano --help` does without.
        from tasks.policy.child import ask_children_to_end  # noqa: PLC0415

        began = time.monotonic()
        deadline = began + seconds
        while not self.over.wait(0.3):
            continue_stopped()
            now = time.monotonic()
            if ask_children_to_end() and now < began + PARENT_SECONDS:
                deadline = max(deadline, now + AFTER_CHILD_SECONDS)
            elif now > deadline or self.is_lost():
                _end_process(self.sentence)


_departures: Final[list[Departure]] = []  # of the blocks that are under way, the innermost last


@contextmanager
def departure(sentence: str) -> Iterator[Departure]:
    """Keep each signal that comes in the block, and end the process if the block then does not end in time."""
    asked = Departure(sentence)
    before = signal.set_wakeup_fd(asked.written.fileno(), warn_on_full_buffer=False)
    _departures.append(asked)
    try:
        yield asked
    finally:
        _departures.remove(asked)
        asked.over.set()
        signal.set_wakeup_fd(before)
        # Its end wakes the thread.
        asked.written.close()


@contextmanager
def interruptible(sentence: str) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM inside the block into `Interrupted`."""
    with departure(sentence) as asked, handle_signals(raise_interrupt), _dropped_interrupts_unprinted():
        try:
            yield
        except KeyboardInterrupt:
            raise Interrupted(asked.sentence) from None
        except Interrupted:
            raise
        except BaseException as error:
            # Much fails otherwise while a command is left, such as requests to a server that has ended.
            is_ours = isinstance(error, TucanoError | GeneratorExit)
            is_asked = asked.asked.wait(0.0 if is_ours else SECONDS_OF_THE_THREAD)
            if not is_asked and (is_ours or not asked.is_lost()):
                raise
            raise Interrupted(asked.sentence) from error
        refuse_if_interrupted()


@contextmanager
def _dropped_interrupts_unprinted() -> Iterator[None]:
    """Print no traceback of an interrupt that the interpreter drops, as in a callback: the thread has kept it."""
    hook = sys.unraisablehook
    # Neither Ctrl-C's exception nor Prefect's of a SIGTERM is an `Exception`.
    sys.unraisablehook = lambda lost: hook(lost) if issubclass(lost.exc_type, Exception) else None
    try:
        yield
    finally:
        sys.unraisablehook = hook


def refuse_if_interrupted() -> None:
    """Refuse to go on after a signal: call it where work begins, reports or ends."""
    for asked in _departures:
        if asked.asked.is_set():
            raise Interrupted(asked.sentence)


@contextmanager
def ended_by(loss: Loss) -> Iterator[None]:
    """End the command, with exit code 4, if during the block something is lost that it cannot do without."""
    losses = _departures[-1].losses if _departures else []
    losses.append(loss)
    try:
        yield
    except TucanoError:
        raise
    except Exception:
        # A request to what was killed may fail before the thread looks at it again, and before it has quite ended.
        time.sleep(SECONDS_OF_THE_THREAD)
        if (lost := loss()) is not None:
            losses.append(lambda: lost)
        raise
    finally:
        losses.remove(loss)


@contextmanager
def handle_signals(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Handle Ctrl-C and SIGTERM in the block, and give each its earlier handler back."""
    before = {number: signal.getsignal(number) for number in ENDING}
    for number, found in before.items():
        # A shell's job in the background is started deaf to Ctrl-C.
        if found is not signal.SIG_IGN:
            signal.signal(number, handler)
    try:
        yield
    finally:
        for number, found in before.items():
            signal.signal(number, found)


@contextmanager
def first_sigterm_only(sentence: str) -> Iterator[None]:
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
        with departure(sentence):
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


def raise_interrupt(*_: object) -> None:
    """Handle a SIGTERM as Ctrl-C; Prefect passes a SIGTERM on to the handler that it found."""
    raise KeyboardInterrupt


def continue_stopped() -> None:
    """Let each process that this one started go on if a signal has stopped it: nothing else would end the wait."""
    # The thread's imports, so that a command that ends at once does without.
    import psutil  # noqa: PLC0415

    from flows.runtime.console import warn  # noqa: PLC0415

    # A process may end at any moment.
    with suppress(psutil.Error):
        for helper in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if helper.status() == psutil.STATUS_STOPPED:
                    helper.resume()
                    warn(f"process {helper.pid} ({helper.name()}) was stopped by a signal, and goes on")


def _end_process(sentence: str) -> None:
    import psutil  # noqa: PLC0415

    from flows.runtime.console import show  # noqa: PLC0415

    with suppress(psutil.Error):
        for helper in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                helper.kill()
    # The terminal may take no more: one that is paused, or a pipe that nobody reads.
    told = threading.Thread(target=show, args=[f"tucano: {sentence}"], daemon=True)
    told.start()
    told.join(1.0)
    os._exit(Interrupted.exit_code)
