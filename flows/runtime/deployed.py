"""What a run of a deployment must be: named, scheduled again where it is interrupted, and alone in its state folder."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from prefect.runtime import deployment, flow_run

from flows.rescheduling import rescheduled
from flows.session import BYTES_NEEDED, state_folder
from schemas.config import Config
from tasks.policy.child import SECONDS_TO_END

NOTICES_TO_REST: Final = 2
"""How long an interrupted run rests, as a multiple of the time that a machine's notice leaves: the machine is gone
then, also where its worker would take the run some seconds early."""


def dated(what: str) -> str:
    """Name a run by what it is: the day on which it was to start, however often it is resumed, and the seed."""
    config: Config = flow_run.parameters["config"]
    return f"{what}-{flow_run.scheduled_start_time:%Y-%m-%d}-seed{config.seed}"


@contextmanager
def deployed(config: Config) -> Iterator[None]:
    """Schedule the run of a deployment again where the block is interrupted, and hold the state folder meanwhile.

    A command sees to both itself, so that without a deployment this does nothing.
    """
    # The folder is let go first: once the run is scheduled, its next worker wants it.
    with rescheduled(NOTICES_TO_REST * config.train.preemption.seconds), _alone(config):
        yield


def _alone(config: Config) -> AbstractContextManager[None]:
    """Hold the state folder where no command does: in a run of a deployment, until it ends or is suspended."""
    if deployment.id is None:
        return nullcontext()
    # The run before may still be ending on this machine, with this one's own work.
    return state_folder(config, bytes_needed=BYTES_NEEDED, patience=SECONDS_TO_END)
