"""Runs on a Prefect server: their pages, logs and tags; of a deployment also alone, rescheduled, and suspended.

They are kept where a Prefect server is in use, and left out where none is: a command that schedules nothing starts no
server, which would take it ten seconds. Its stages are plain calls then, and what they would show on a run's page is in
MLflow and in the terminal alone. Each stage has a page of its own; that of the chain is the one that people open.
"""

import logging
import math
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from functools import update_wrapper
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, Generic, ParamSpec, TypeVar
from uuid import UUID

from prefect import artifacts, flow, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.client.schemas.responses import SetStateStatus
from prefect.exceptions import Abort, Pause, TerminationSignal
from prefect.flow_runs import suspend_flow_run
from prefect.runtime import deployment, flow_run
from prefect.settings import PREFECT_API_URL
from prefect.states import AwaitingRetry

from flows.runtime.session import BYTES_NEEDED, StateFolderHeld, state_folder
from flows.runtime.signals import first_sigterm_only, sigterm_on_parent_exit
from schemas.artifact import ArtifactRecord
from schemas.config.config import Config
from schemas.errors import Interrupted
from schemas.timeouts import PARENT_SECONDS
from tasks.audit.labelling import RUBRICS_FOLDER
from tasks.commerce.push.phrases import use_own

PROFILE: Final = "profile"
SEED: Final = "seed"
PAGES_VARIABLE: Final = "MLFLOW_PAGES"
"""Environment variable with MLflow's address in people's browsers, where machines use another one."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_chain: logging.Logger | logging.LoggerAdapter[Any] | None = None


def is_recorded() -> bool:
    """Return whether a Prefect server records what is done: inside a flow's run, or where runs go to a server."""
    return flow_run.get_id() is not None or "PREFECT_API_URL" in os.environ or PREFECT_API_URL.value() is not None


class StageFlow(Generic[Arguments, Result]):
    """Function of a session that is a flow of its own where that is recorded, and else a function."""

    def __init__(self, name: str, function: Callable[Arguments, Result]) -> None:
        """Make a flow of a function, whose runs are named by the configuration's seed."""
        update_wrapper(self, function)
        self._function = function
        self._flow: Callable[Arguments, Any] = flow(
            name=name, flow_run_name=f"{name}-seed{{session.config.seed}}", validate_parameters=False
        )(function)

    @property
    def __call__(self) -> Callable[Arguments, Result]:
        """Return what is called, so that no call comes between."""
        return self._flow if is_recorded() else self._function


def stage_flow(name: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Return the decorator that makes a function a `StageFlow`."""
    return lambda function: StageFlow(name, function)


def show_markdown(*, key: str, markdown: str, description: str) -> None:
    """Show a text on the run's page, where there is one."""
    if not is_recorded():
        return
    # A page breaks lines at spaces only, and an answer in JSON that a reason quotes would run out of it.
    artifacts.create_markdown_artifact(key=key, markdown=markdown.replace(',"', ', "'), description=description)


@contextmanager
def logging_of_chain() -> Iterator[None]:
    """Have all that `log` is given in the block, from any stage and thread, in the log of the run that is open now."""
    global _chain  # noqa: PLW0603 - a process runs one chain, whose stages report from several threads
    _chain = get_run_logger() if flow_run.get_id() is not None else None
    try:
        yield
    finally:
        _chain = None


def log(text: str) -> None:
    """Add a line to the log of the chain, whose page people open; without one, of the flow or task that is running."""
    if _chain is not None or flow_run.get_id() is not None:
        (_chain or get_run_logger()).info(text)


def profile_tag(profile: str) -> str:
    """Return a run's tag of its profile: its name, also where it is a file's path."""
    return f"{PROFILE}:{profile.rpartition('/')[2].removesuffix('.toml')}"


def profile_of_run() -> str | None:
    """Return the profile of the running flow, by its tags; None where nobody named it."""
    marked = (tag.removeprefix(f"{PROFILE}:") for tag in flow_run.tags or () if tag.startswith(f"{PROFILE}:"))
    return next(marked, None)


def add_tags(**named: str) -> None:
    """Add tags to the running flow, in place of those of the same names; said again, nothing changes."""
    new = {f"{name}:{text}" for name, text in named.items()}
    kept = {tag for tag in flow_run.tags or () if tag.partition(":")[0] not in named}
    with get_client(sync_client=True) as client:
        client.update_flow_run(UUID(str(flow_run.id)), tags=sorted(kept | new))


def linked_to_mlflow(text: str, record: ArtifactRecord, config: Config) -> str:
    """Return a Markdown text with a link to the MLflow run that describes an artifact, or with what serves it."""
    if record.mlflow_run_id is None:
        return text
    server = os.environ.get(PAGES_VARIABLE) or config.state.mlflow or ""
    if not server.startswith("http"):
        return f"{text}\n\n`tucano ui` serves {record.stage} in MLflow, run `{record.mlflow_run_id}`."
    page = f"{server.rstrip('/')}/#/runs/{record.mlflow_run_id}"
    return f"{text}\n\n[{record.stage} in MLflow]({page}): its files, metrics and inputs."


ENDS_TO_REST: Final = 2
"""How long an interrupted run rests after the machine's notice, as a multiple of the time in which a training ends: by
then the machine is gone, even if its worker would take the run some seconds early."""
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
    """Reschedule the run of a deployment if the block is interrupted; hold the state folder; use the shop's phrases."""
    use_own(config.rewards.phrases)
    # The previous attempt may still be ending on this machine, saving work that this one continues.
    alone = state_folder(config, bytes_needed=BYTES_NEEDED, patience=PARENT_SECONDS) if deployment.id else nullcontext()
    preemption = config.train.preemption
    # The folder is released first: once the run is scheduled, its next worker wants it.
    with reschedule_on_interrupt(preemption.notice_seconds + ENDS_TO_REST * preemption.seconds), alone:
        yield


@contextmanager
def reschedule_on_interrupt(seconds: float) -> Iterator[None]:
    """Reschedule the run of a deployment if the block is interrupted, or if another run holds the state folder.

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
        states = sorted(client.read_flow_run_states(flow_run.id), key=lambda state: state.timestamp, reverse=True)
        reasons = (each.message for each in states if each.name == AWAITING)
        # Most recently, for this reason and no other.
        if at_most is not None and len([*takewhile(lambda reason: reason == why, reasons)]) >= at_most:
            get_run_logger().error("interrupted in the same way %d times before: not scheduled again", at_most)
            raise interruption
        again: State[None] = AwaitingRetry(scheduled_time=datetime.now(UTC) + later, message=why)
        if client.set_flow_run_state(flow_run.id, again).status != SetStateStatus.ACCEPT:
            raise interruption
    raise Abort(f"scheduled again: {why}") from interruption


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


SHEET_ARTIFACT: Final = "audit-sheet"


def wait_for_scores(sheet: Path, unscored: int, days: float) -> None:
    """Wait until people have scored a sheet, without a process that waits.

    A run of a deployment is suspended. Resumed, it runs its flow again from the top, where finished stages are skipped,
    and its caller looks at the sheet again; a further call suspends again. Call it in the body of the deployed flow,
    for Prefect suspends no subflow.
    """
    waiting = f"{unscored} completions of {sheet} wait for a score"
    label = f"tucano audit label {shlex.quote(str(sheet))} --rater PSEUDONYM"
    now = datetime.now(UTC)
    then = "run the same command again: it resumes from here."
    if deployment.id is not None:
        until = f"{now + timedelta(days=days):%Y-%m-%d %H:%M} UTC"
        then = (
            f"press *Resume* on the run's page, before {until}. Later the run has failed: press *Retry*, or run it "
            "again with the same parameters, and it resumes from here."
        )
    create_markdown_artifact(
        key=SHEET_ARTIFACT,
        markdown=f"""\
**{unscored} completions wait for people's scores**, 1 to 5, as `{RUBRICS_FOLDER}` says. The sheet, on the machine that
works on this run:

```
{sheet}
```

Score in a spreadsheet (`human_score`, `rater`: a pseudonym, `rater_kind`: `human`; saved as CSV), or in the browser:

```
{label}
```

Then {then}
""",
        description="Completions that people must score",
    )
    if deployment.id is None:
        raise Interrupted(
            f"{waiting}; score them in a spreadsheet, or in the browser with `{label}`, and run the same command "
            "again, which resumes from here"
        )
    try:
        # Prefect suspends no run twice by one key.
        suspend_flow_run(timeout=math.ceil(timedelta(days=days).total_seconds()), key=f"scores-{now.isoformat()}")
    except Pause as pause:
        # The recorder of this run knows our own messages, but not Prefect's.
        raise pause from Interrupted(f"suspended: {waiting}")
