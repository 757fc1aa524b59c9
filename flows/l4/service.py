"""Services that run a job: each starts it on a machine with a card, says how it fares, and ends it."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Final, Literal, Protocol

from schemas.errors import TucanoError

State = Literal["waiting", "running", "done", "preempted", "no machine", "failed", "stopped"]
"""A run waits for a machine, works, or ended, and how."""
UNDER_WAY: Final = frozenset({"waiting", "running"})
Machines = Literal["spot", "flex-start", "on-demand"]


@dataclass(frozen=True)
class Run:
    """One attempt of a service at a job."""

    name: str
    """As the service calls it."""
    state: State
    why: str
    """The service's own words."""
    log: str
    """A sentence on how people read what it prints, and how they end it."""


class Unreachable(TucanoError):
    """A service does not answer, and nothing is known of the job."""


class Service(Protocol):
    """A place for a job. A question without an answer raises `Unreachable`, and what a user must fix `InputError`."""

    place: str
    """Its name in sentences; it may change with `next_place`."""
    folder: Path
    """A job's state on its machine."""
    interpreter: Path | None
    """The trainer's Python there; None: the one that runs the job."""
    patience: float = inf
    """Seconds that a run may wait for a machine before the next place is tried."""

    def check(self) -> None:
        """Refuse what would end the job on its machine, before anything is started."""

    def describe(self, job_id: str) -> Iterator[str]:
        """Yield every request, command and file with which it starts, follows and ends a job."""

    def find(self, job_id: str) -> list[Run]:
        """Return the job's runs that have not ended, the oldest first."""

    def start(self, job_id: str) -> Run:
        """Start the job; `Unreachable` where nobody knows whether it was started: look for it then."""

    def look(self, run: Run) -> Run:
        """Return the run as it is now."""

    def stop(self, run: Run) -> None:
        """Ask a run that is under way to end."""

    def next_place(self) -> bool:
        """Turn to the next place that may have a machine; False where all were tried."""
        return False


def command(python: str, artifacts: str, job_id: str, folder: Path) -> list[str]:
    """Return the command line of a job on its machine."""
    return [python, "-m", "flows.l4.work", artifacts, job_id, str(folder)]
