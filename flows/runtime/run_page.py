"""Prefect's record of what a command does: flows, log, tags, and links to MLflow's pages.

It is kept where a Prefect server is in use, and left out where none is: a command that schedules nothing starts no
server, which would take it ten seconds. Its stages are plain calls then, and what they would show on a run's page is in
MLflow and in the terminal alone. Each stage has a page of its own; that of the chain is the one that people open.
"""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from typing import Any, Final, Generic, ParamSpec, TypeVar
from uuid import UUID

from prefect import artifacts, flow, get_run_logger, tags
from prefect.client.orchestration import get_client
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL

from schemas.artifact import ArtifactRecord
from schemas.config.config import Config

PROFILE: Final = "profile"
SEED: Final = "seed"
PAGES_VARIABLE: Final = "MLFLOW_PAGES"
"""Environment variable with MLflow's address in people's browsers, where machines use another one."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_UNRECORDED = logging.getLogger(__name__)
_UNRECORDED.addHandler(logging.NullHandler())
_UNRECORDED.propagate = False


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


def run_log() -> logging.Logger | logging.LoggerAdapter[Any]:
    """Return the log of Prefect's run; where there is none, one that keeps nothing."""
    return get_run_logger() if flow_run.get_id() is not None else _UNRECORDED


def show_markdown(*, key: str, markdown: str, description: str) -> None:
    """Show a text on the run's page, where there is one."""
    if not is_recorded():
        return
    # A page breaks lines at spaces only, and an answer in JSON that a reason quotes would run out of it.
    artifacts.create_markdown_artifact(key=key, markdown=markdown.replace(',"', ', "'), description=description)


_chain: logging.Logger | logging.LoggerAdapter[Any] | None = None


@contextmanager
def logging_of_chain() -> Iterator[None]:
    """Have all that `log` is given in the block, from any stage and thread, in the log of the run that is open now."""
    global _chain  # noqa: PLW0603 - a process runs one chain, whose stages report from several threads
    _chain = run_log()
    try:
        yield
    finally:
        _chain = None


def log(text: str) -> None:
    """Add a line to the log of the chain, whose page people open; without one, of the flow or task that is running."""
    (_chain or run_log()).info(text)


def profile_tag(profile: str) -> str:
    """Return a run's tag of its profile: its name, also where it is a file's path."""
    return f"{PROFILE}:{profile.rpartition('/')[2].removesuffix('.toml')}"


def tagged(profile: str, seed: int) -> Any:
    """Tag the runs that begin in the block with profile and seed."""
    return tags(profile_tag(profile), f"{SEED}:{seed}")


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
