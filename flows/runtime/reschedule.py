"""Rescheduling of a deployment's interrupted run, so that any worker resumes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Final

from prefect import get_run_logger
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import State
from prefect.client.schemas.responses import SetStateStatus
from prefect.exceptions import Abort, TerminationSignal
from prefect.runtime import deployment, flow_run
from prefect.states import AwaitingRetry

from flows.runtime.session import StateFolderHeld
from flows.runtime.signals import first_sigterm_only, sigterm_on_parent_exit
from schemas.errors import Interrupted

INTERRUPTIONS_ALIKE: Final = 3
"""Equal interruptions in a row after which another try is in vain; a training's message names the step that is saved,
so that progress makes messages differ."""

UNTIL_A_FOLDER_IS_FREE: Final = timedelta(hours=1)
"""Rest of a run whose state folder is held. Each try counts towards the limit in infra/automations, and another run may
hold the folder for a day of training."""

AWAITING: Final = "AwaitingRetry"

_ASKED_TO_END: Final = "the machine or the worker asked the run to end"


@contextmanager
def reschedule_on_interrupt(seconds: float) -> Iterator[None]:
    """Reschedule the run of a deployment if the block is interrupted; without a deployment, do nothing.

    So too where another run holds the state folder: a run that was taken for lost may still be at work there.

    Put it around everything that the run holds: once the run is scheduled, another worker may start on it.

    Args:
        seconds: Delay after an interruption: a machine that announced its end must be gone before its worker takes the
            run again.

    Raises:
        Interrupted: The run has no deployment, or was interrupted in vain too often: then it has failed.
        Abort: Prefect's own signal to leave a run whose state is set.
        TerminationSignal: Somebody else has set the run's state, such as by cancelling it.
    """
    if deployment.id is None:
        yield
        return
    with first_sigterm_only(_ASKED_TO_END):
        try:
            with sigterm_on_parent_exit():
                yield
        except Interrupted as interrupted:
            _reschedule(interrupted, str(interrupted), timedelta(seconds=seconds), at_most=INTERRUPTIONS_ALIKE)
        except StateFolderHeld as held:
            _reschedule(held, str(held), UNTIL_A_FOLDER_IS_FREE)
        except TerminationSignal as asked:
            _reschedule(asked, _ASKED_TO_END, timedelta())


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
    """Count how often, most recently, this run was rescheduled for this reason and no other."""
    states = sorted(client.read_flow_run_states(flow_run.id), key=lambda state: state.timestamp)
    reasons = [state.message for state in states if state.name == AWAITING]
    return len(list(takewhile(lambda reason: reason == why, reversed(reasons))))
