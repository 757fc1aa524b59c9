"""Prefect's record of what a command does: kept where a Prefect server is in use, and left out where none is.

A command that schedules nothing starts no server, which would take it ten seconds: its stages are plain calls then, and
what they would show on a run's page is in MLflow and in the terminal alone.
"""

import logging
import os
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, cast
from uuid import UUID

from prefect import artifacts, flow, get_run_logger
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactUpdate
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL

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
        """Return what is called."""
        return self._flow if is_recorded() else self._function


def stage_flow(name: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Return the decorator that makes a function a `StageFlow`."""
    return lambda function: StageFlow(name, function)


def run_log() -> logging.Logger | logging.LoggerAdapter[Any]:
    """Return the log of Prefect's run; where there is none, one that keeps nothing."""
    return get_run_logger() if flow_run.get_id() is not None else _UNRECORDED


def show_markdown(*, key: str, markdown: str, description: str, instead_of: UUID | None = None) -> UUID | None:
    """Show a text on the run's page, or instead of an earlier one, and return its artifact's id; None without a run."""
    if not is_recorded():
        return None
    # A page breaks lines at spaces only, and an answer in JSON that a reason quotes would run out of it.
    markdown = markdown.replace(',"', ', "')
    if instead_of is None:
        return cast("UUID", artifacts.create_markdown_artifact(key=key, markdown=markdown, description=description))
    with get_client(sync_client=True) as client:
        client.update_artifact(instead_of, ArtifactUpdate(data=markdown, description=description))
    return instead_of


def show_table(*, key: str, table: list[dict[str, Any]], description: str) -> None:
    """Show a table on the run's page."""
    if is_recorded():
        artifacts.create_table_artifact(key=key, table=table, description=description)
