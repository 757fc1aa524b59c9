"""The job on this machine, as a process of its own: what a rented machine runs, with the same bytes."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from flows.l4.service import Run, Service, State, command
from schemas.config.config import Config
from schemas.errors import Interrupted
from schemas.python_process import safe_environment
from schemas.source import REPOSITORY
from schemas.timeouts import PARENT_SECONDS

ENDINGS: Final[Mapping[int, State]] = {0: "done", Interrupted.exit_code: "stopped"}
"""By exit code; by all others it failed."""
OF_THE_LAPTOP: Final = ("PREFECT_API_URL", "PREFECT_HOME", "PREFECT_LOCAL_STORAGE_PATH", "PREFECT_PROFILES_PATH")
"""Variables by which a Prefect server of this process would record the job."""


class ThisMachine(Service):
    """This machine, whose one run ends with this process: where that is killed, the run's stdin is closed."""

    place = "this machine"

    def __init__(self, config: Config, artifacts: str, folder: Path) -> None:
        """Hand artifacts over by a folder, and keep the job's state in another."""
        self.folder, self.interpreter = folder, config.train.interpreter
        self._artifacts = artifacts
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def check(self) -> None:
        """Refuse nothing: the job's own checks are those of a retraining here."""

    def describe(self, job_id: str) -> Iterator[str]:
        """Yield the command."""
        yield " ".join(self._command(job_id))

    def find(self, job_id: str) -> list[Run]:  # noqa: ARG002 - there is one
        """Return the run of this process."""
        return [run for run in map(self._run, self._processes) if run.state == "running"]

    def start(self, job_id: str) -> Run:
        """Start the process."""
        inherited = {name: value for name, value in safe_environment().items() if name not in OF_THE_LAPTOP}
        process = subprocess.Popen(
            self._command(job_id),
            stdin=subprocess.PIPE,
            stdout=sys.stderr,
            env={**inherited, "PYTHONPATH": str(REPOSITORY)},
            cwd=os.sep,
        )
        name = f"process {process.pid}"
        self._processes[name] = process
        return self._run(name)

    def look(self, run: Run) -> Run:
        """Return how the process fares."""
        return self._run(run.name)

    def stop(self, run: Run) -> None:
        """Ask the process to save its work and to end, and end it where it does not."""
        process = self._processes[run.name]
        process.terminate()
        try:
            process.wait(PARENT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _command(self, job_id: str) -> list[str]:
        return command(sys.executable, self._artifacts, job_id, self.folder)

    def _run(self, name: str) -> Run:
        code = self._processes[name].poll()
        state: State = "running" if code is None else ENDINGS.get(code, "failed")
        return Run(name, state, f"exit code {code}", "its lines are above")
