"""Page of a run of the chain on Prefect's server: its log, its one progress artifact, and its tags.

Each stage has a page of its own; this is the one that people open.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, cast
from uuid import UUID

from prefect import tags
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.client.orchestration import get_client
from prefect.runtime import flow_run

from flows.runtime.prefect_run import is_recorded, run_log

PERCENT_BETWEEN_UPDATES: Final = 5.0
PROGRESS_KEY: Final = "progress"
PROFILE: Final = "profile"
SEED: Final = "seed"


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
