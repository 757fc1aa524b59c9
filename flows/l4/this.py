"""The job on this machine, as a process of its own: what a rented machine runs, with the same bytes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from flows.l4.service import Run, State, command
from schemas.config.config import Config
from schemas.errors import Interrupted
from schemas.python_process import safe_environment
from schemas.source import REPOSITORY
from schemas.timeouts import PARENT_SECONDS


class ThisMachine:
    """A `Service` whose one run ends with this process: where that is killed, its end closes the run's stdin."""

    place = "this machine"
    patience = float("inf")

    def __init__(self, config: Config, artifacts: str, folder: Path) -> None:
        """Hand artifacts over by a folder, and keep the job's state in another."""
        self.folder, self.interpreter = folder, config.train.interpreter
        self._artifacts = artifacts
        self._process: subprocess.Popen[bytes] | None = None

    def check(self) -> None:
        """Nothing: the job's own checks are those of a retraining here."""

    def describe(self, job_id: str) -> Iterator[str]:
        """Yield the command."""
        yield " ".join(command(sys.executable, self._artifacts, job_id, self.folder))

    def find(self, job_id: str) -> list[Run]:  # noqa: ARG002 - there is one
        """Return the run of this process."""
        run = self._run()
        return [run] if run is not None and run.state == "running" else []

    def start(self, job_id: str) -> Run:
        """Start the process."""
        environment = {**safe_environment(), "PYTHONPATH": str(REPOSITORY)}
        # A server of the laptop's part would record it.
        for name in ("PREFECT_API_URL", "PREFECT_HOME", "PREFECT_LOCAL_STORAGE_PATH", "PREFECT_PROFILES_PATH"):
            environment.pop(name, None)
        self._process = subprocess.Popen(
            command(sys.executable, self._artifacts, job_id, self.folder),
            stdin=subprocess.PIPE,
            stdout=sys.stderr,
            env=environment,
            cwd=os.sep,
        )
        return Run(f"process {self._process.pid}", "running")

    def look(self, run: Run) -> Run:
        """Return how the process fares."""
        return self._run() or run

    def _run(self) -> Run | None:
        if self._process is None:
            return None
        code, name = self._process.poll(), f"process {self._process.pid}"
        if code is None:
            return Run(name, "running")
        ended: dict[int, State] = {0: "done", Interrupted.exit_code: "stopped"}
        return Run(name, ended.get(code, "failed"), f"exit code {code}")

    def stop(self, run: Run) -> None:  # noqa: ARG002 - as above
        """Ask the process to save its work and to end, and end it where it does not."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(PARENT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def next_place(self) -> bool:
        """There is no other."""
        return False

    def log_of(self, run: Run) -> str:  # noqa: ARG002 - as above
        """Return where it prints."""
        return "its lines are above"
