"""Runs of a deployment: named, alone in their state folder, rescheduled when interrupted, with absolute paths."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from prefect import get_run_logger
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import State
from prefect.client.schemas.responses import SetStateStatus
from prefect.exceptions import Abort, TerminationSignal
from prefect.runtime import deployment, flow_run
from prefect.states import AwaitingRetry

from flows.runtime.session import BYTES_NEEDED, StateFolderHeld, state_folder
from flows.runtime.signals import first_sigterm_only, sigterm_on_parent_exit
from schemas.config.config import Config
from schemas.errors import Interrupted
from tasks.commerce.push.phrases import use_own
from tasks.policy.child import SECONDS_TO_END

NOTICES_TO_REST: Final = 2
"""How long an interrupted run rests, as a multiple of the machine's notice period: by then the machine is gone, even if
its worker would take the run some seconds early."""
INTERRUPTIONS_ALIKE: Final = 3
"""Equal interruptions in a row after which another try is in vain; a training's message names the step that is saved,
so that progress makes messages differ."""
UNTIL_A_FOLDER_IS_FREE: Final = timedelta(hours=1)
"""Rest of a run whose state folder is held. Each try counts towards the limit in infra/automations, and another run may
hold the folder for a day of training."""
AWAITING: Final = "AwaitingRetry"
_ASKED_TO_END: Final = "the machine or the worker asked the run to end"


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
    # The previous attempt may still be ending on this machine, saving work that this one continues.
    alone = state_folder(config, bytes_needed=BYTES_NEEDED, patience=SECONDS_TO_END) if deployment.id else nullcontext()
    # The folder is released first: once the run is scheduled, its next worker wants it.
    with reschedule_on_interrupt(NOTICES_TO_REST * config.train.preemption.seconds), alone:
        yield


@contextmanager
def reschedule_on_interrupt(seconds: float) -> Iterator[None]:
    """Reschedule the run of a deployment if the block is interrupted; without a deployment, do nothing.

    So too where another run holds the state folder: a run that was taken for lost may still be at work there.

    Put it around everything that the run holds: once the run is scheduled, another worker may start on it.
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
    states = sorted(client.read_flow_run_states(flow_run.id), key=lambda state: state.timestamp, reverse=True)
    return len(
        list(takewhile(lambda reason: reason == why, (each.message for each in states if each.name == AWAITING)))
    )


def absolute_config(config: Config) -> Config:
    """Return the configuration with absolute paths: a worker runs in a folder of its own."""
    values = _absolute(config.model_dump())
    state, policy = values["state"], values["policy"]
    for name in ("mirror", "artifacts"):
        state[name] = absolute_address(state[name])
    if state["mlflow"] and state["mlflow"].startswith("sqlite:///"):
        state["mlflow"] = f"sqlite:///{Path(state['mlflow'].removeprefix('sqlite:///')).absolute()}"
    # A base is a folder if a folder of that name exists, and a model of the hub otherwise.
    if Path(policy["name"]).is_dir():
        policy["name"] = str(Path(policy["name"]).absolute())
    return Config.model_validate(values)


def absolute_address(address: str | None) -> str | None:
    """Return an address that is a folder or a file as an absolute path, and any other unchanged."""
    return str(Path(address).absolute()) if address and "://" not in address else address


def _absolute(value: Any) -> Any:
    if isinstance(value, Path):
        # Not resolved: a virtual environment's interpreter is a symbolic link.
        return value.absolute()
    if isinstance(value, dict):
        return {key: _absolute(each) for key, each in value.items()}
    return value
