"""Prefect's record of what a command does: flows, log, progress, tags, and links to MLflow's pages.

It is kept where a Prefect server is in use, and left out where none is: a command that schedules nothing starts no
server, which would take it ten seconds. Its stages are plain calls then, and what they would show on a run's page is in
MLflow and in the terminal alone. Each stage has a page of its own; that of the chain is the one that people open.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from typing import Any, Final, Generic, ParamSpec, TypeVar, cast
from urllib.parse import urlsplit
from uuid import UUID

from prefect import artifacts, flow, get_run_logger, tags
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.client.orchestration import get_client
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL

from flows.runtime.prefect_server import HOST, MLFLOW_PATH
from flows.runtime.session import OWN_SERVER_VARIABLE, running_pages
from schemas.artifact import ArtifactRecord
from schemas.config.config import Config

PERCENT_BETWEEN_UPDATES: Final = 5.0
PROGRESS_KEY: Final = "progress"
PROFILE: Final = "profile"
SEED: Final = "seed"
PAGES_VARIABLE: Final = "MLFLOW_PAGES"
"""Environment variable with MLflow's address in people's browsers, where machines use another one."""
LOOPBACK: Final = frozenset({HOST, "localhost"})

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


class RunPage:
    """Page of one run; stages that work at once may report from their threads."""

    def __init__(self) -> None:
        """Open the page of the flow or task that is running; of a run that nothing records there is none."""
        self._recorded = is_recorded()
        self._log = run_log()
        self._lock = threading.Lock()
        self._artifact: UUID | None = None
        self._shown: dict[str, float] = {}

    def log(self, text: str) -> None:
        """Add a line to the run's log."""
        self._log.info(text)

    def progress(self, stage: str, done: int, total: int, text: str) -> None:
        """Show how far a stage is, in steps of some percent."""
        if not self._recorded:
            return
        percent = 100.0 * done / total if total else 0.0
        with self._lock:
            shown = self._shown.get(stage, 0.0)
            if percent < shown:
                # Another part of the work, with a count of its own: first the preflight's checks, then the steps.
                shown = self._shown[stage] = 0.0
            if percent - shown >= PERCENT_BETWEEN_UPDATES or (done == total and percent > shown):
                self._shown[stage] = percent
                self._show(percent, f"{stage}: {done}/{total} {text}")

    def show(self, percent: float, description: str) -> None:
        """Show how far the run is; the first call makes the artifact, on the page of the flow that calls."""
        if self._recorded:
            with self._lock:
                self._show(percent, description)

    def _show(self, percent: float, description: str) -> None:
        if self._artifact is None:
            made = create_progress_artifact(percent, key=PROGRESS_KEY, description=description)
            self._artifact = cast("UUID", made)
        else:
            update_progress_artifact(self._artifact, percent, description=description)


_open: RunPage | None = None


@contextmanager
def run_page() -> Iterator[RunPage]:
    """Give the page of the running chain; where there is none, of the flow or task that is running."""
    global _open  # noqa: PLW0603 - a process runs one chain, whose stages report from several threads
    if _open is not None:
        yield _open
        return
    page = _open = RunPage()
    try:
        yield page
    finally:
        _open = None


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


def mlflow_page(record: ArtifactRecord, config: Config) -> str | None:
    """Return the address of the page of the MLflow run that describes an artifact; None where nobody serves one.

    On Prefect's pages of `tucano ui` it is a path, which leads to MLflow's, whatever the ports are on the day when
    somebody follows it. Those of another Prefect server have no such path.
    """
    pages = _pages(config)
    return None if record.mlflow_run_id is None or pages is None else f"{pages}/#/runs/{record.mlflow_run_id}"


def _pages(config: Config) -> str | None:
    server = os.environ.get(PAGES_VARIABLE) or config.state.mlflow or ""
    if server.startswith("http"):
        return server.rstrip("/")
    pages, here = running_pages(config.state.root), _local_port(os.environ.get("PREFECT_API_URL"))
    # `tucano ui` shows the runs of a session's own server later.
    ours = {_local_port(os.environ.get(OWN_SERVER_VARIABLE)), _local_port(pages.prefect_api if pages else None)}
    return MLFLOW_PATH if here is not None and here in ours else None


def _local_port(address: str | None) -> int | None:
    """Return the port of an address on this machine; None of another's."""
    parts = urlsplit(address or "")
    return parts.port if parts.hostname in LOOPBACK else None


def linked_to_mlflow(text: str, record: ArtifactRecord, config: Config) -> str:
    """Return a Markdown text with a link to the MLflow run that describes an artifact, or with what serves it."""
    if record.mlflow_run_id is None:
        return text
    page = mlflow_page(record, config)
    if page is None:
        return f"{text}\n\n`tucano ui` serves {record.stage} in MLflow, run `{record.mlflow_run_id}`."
    return f"{text}\n\n[{record.stage} in MLflow]({page}): its files, metrics and inputs."
