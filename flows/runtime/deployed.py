"""Runs of a deployment: named, rescheduled when interrupted, and alone in their state folder."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from prefect.runtime import deployment, flow_run

from flows.runtime.reschedule import reschedule_on_interrupt
from flows.runtime.session import BYTES_NEEDED, state_folder
from schemas.config.config import Config
from tasks.commerce.push.phrases import use_own
from tasks.policy.child import SECONDS_TO_END

NOTICES_TO_REST: Final = 2
"""How long an interrupted run rests, as a multiple of the machine's notice period: by then the machine is gone, even if
its worker would take the run some seconds early."""


def run_name(what: str) -> str:
    """Name a run by its flow, the second at which it was to start, however often it is resumed, and the seed."""
    config: Config = flow_run.parameters["config"]
    return f"{what}-{flow_run.scheduled_start_time:%Y-%m-%d-%H%M%S}-seed{config.seed}"


@contextmanager
def deployed(config: Config) -> Iterator[None]:
    """Reschedule the run of a deployment if the block is interrupted, and hold the state folder meanwhile.

    The shop's own phrases are taken into account. Outside a deployment it does no more: a command does the rest itself.
    """
    use_own(config.rewards.phrases)
    # The folder is released first: once the run is scheduled, its next worker wants it.
    with reschedule_on_interrupt(NOTICES_TO_REST * config.train.preemption.seconds), _alone(config):
        yield


def _alone(config: Config) -> AbstractContextManager[None]:
    """Hold the state folder in a run of a deployment, until it ends or is suspended; a command holds it itself."""
    if deployment.id is None:
        return nullcontext()
    # The previous attempt may still be ending on this machine, saving work that this one continues.
    return state_folder(config, bytes_needed=BYTES_NEEDED, patience=SECONDS_TO_END)
