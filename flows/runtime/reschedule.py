"""A run of a deployment that is interrupted is scheduled again by itself, and any worker goes on with it."""

import os
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from types import FrameType
from typing import Final

from prefect import get_run_logger
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import State
from prefect.client.schemas.responses import SetStateStatus
from prefect.exceptions import Abort, TerminationSignal
from prefect.runtime import deployment, flow_run
from prefect.states import AwaitingRetry

from flows.session import StateFolderHeld
from schemas.errors import Interrupted

INTERRUPTIONS_ALIKE: Final = 3
"""An interruption that is told in the same words so often, one after the other, is none that another try mends: the
sentence of a training names the step that is saved."""

UNTIL_A_FOLDER_IS_FREE: Final = timedelta(hours=1)
"""How long a run rests that finds its state folder held. Each try counts in the cap of infra/automations, and another
run may hold it for a day of training."""

AWAITING: Final = "AwaitingRetry"

_ASKED_TO_END: Final = "the machine or the worker asked the run to end"


@contextmanager
def rescheduled(seconds: float) -> Iterator[None]:
    """Schedule the run of a deployment again where the block is interrupted; without a deployment, do nothing.

    So it is where another run holds the state folder: a run that was taken for lost may still be at work there.

    It belongs around all that the run holds: once the run is scheduled, another worker may start on it.

    Args:
        seconds: How long after an interruption the run starts again: its machine may have announced its end, and must
            be gone before its worker takes the run once more.

    Raises:
        Interrupted: The run has no deployment, or was interrupted in vain too often: then it has failed.
        Abort: Prefect's own signal to leave a run whose state is set.
        TerminationSignal: Somebody else has decided what comes of the run, such as who cancelled it.
    """
    if deployment.id is None:
        yield
        return
    with _asked_once():
        try:
            with _ended_with_supervisor():
                yield
        except Interrupted as interrupted:
            _reschedule(interrupted, str(interrupted), timedelta(seconds=seconds), at_most=INTERRUPTIONS_ALIKE)
        except StateFolderHeld as held:
            _reschedule(held, str(held), UNTIL_A_FOLDER_IS_FREE)
        except TerminationSignal as asked:
            _reschedule(asked, _ASKED_TO_END, timedelta())


@contextmanager
def _asked_once() -> Iterator[None]:
    """Take the first SIGTERM only: the end of who sent it is another, which must not cut the saving short."""
    asked = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread() or not callable(asked):
        yield
        return

    def once(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, lambda *_: None)
        asked(number, frame)

    signal.signal(signal.SIGTERM, once)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, asked)


def _reschedule(interruption: BaseException, why: str, later: timedelta, at_most: int | None = None) -> None:
    with get_client(sync_client=True) as client:
        state = client.read_flow_run(flow_run.id).state
        if state is None or not state.is_running():
            raise interruption
        if at_most is not None and _times_alike(client, why) >= at_most:
            get_run_logger().error("interrupted in the same way %d times before: not scheduled again", at_most)
            raise interruption
        again: State[None] = AwaitingRetry(scheduled_time=datetime.now(UTC) + later, message=why)
        if client.set_flow_run_state(flow_run.id, again).status != SetStateStatus.ACCEPT:
            raise interruption
    raise Abort(f"scheduled again: {why}") from interruption


def _times_alike(client: SyncPrefectClient, why: str) -> int:
    """Count how often this run was scheduled again for this reason, and for no other in between."""
    states = sorted(client.read_flow_run_states(flow_run.id), key=lambda state: state.timestamp)
    reasons = [state.message for state in states if state.name == AWAITING]
    return len(list(takewhile(lambda reason: reason == why, reversed(reasons))))


@contextmanager
def _ended_with_supervisor() -> Iterator[None]:
    """Take the end of whoever started this process as a SIGTERM, until there is nothing left to save.

    A worker that is asked to end kills what it has started. Where that is `prefect flow-run execute`, the run itself,
    which is in a process group of its own, lives on and has time to save its work.
    """
    left = threading.Event()
    # Prefect starts runs with a pipe that nobody writes to; by hand, stdin is a terminal or a file.
    kind = os.fstat(sys.__stdin__.fileno()).st_mode if sys.__stdin__ is not None else 0
    if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
        threading.Thread(target=_terminate_at_end_of_stdin, args=[left], daemon=True).start()
    try:
        yield
    finally:
        left.set()


def _terminate_at_end_of_stdin(left: threading.Event) -> None:
    # Not `sys.stdin`: a thread that waits in it holds a lock that the interpreter wants at its end.
    while os.read(0, 1024):
        pass
    # Nobody reads what this process prints any more, and rich answers a broken pipe with the end of the process.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    if not left.is_set():
        os.kill(os.getpid(), signal.SIGTERM)
