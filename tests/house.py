"""A Prefect server with all its services, the workers that come and go, and runs of deployments that are watched."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
from prefect.client.orchestration import SyncPrefectClient

from flows.runtime.prefect_server import reachable
from flows.runtime.session import mirror_address
from schemas.config.config import Config
from tasks.checkpoints.address import open_mirror, trainings
from tasks.checkpoints.mirror import Mirror
from tasks.checkpoints.segments import Segment, read_segments
from tasks.policy.child import end_group

PATIENCE = 240


@dataclass
class House:
    """A Prefect server with all its services and the workers that come and go."""

    home: Path
    address: str
    environment: dict[str, str]
    client: SyncPrefectClient
    started: list[psutil.Process] = field(default_factory=list)

    def worker(self, pool: str) -> psutil.Process:
        with (self.home / "workers.log").open("ab") as log:
            command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", pool, "--type", "process"]
            process = psutil.Popen(command, env=self.environment, stdout=log, stderr=log, start_new_session=True)
        self.started.append(process)
        return process

    def team(self, worker: psutil.Process) -> list[psutil.Process]:
        """Return a worker and all that it has started: the supervisor of a run, the run, and its training."""
        team = [worker, *worker.children(recursive=True)]
        self.started += team
        return team

    def end(self) -> None:
        for process in list(self.started):
            with suppress(psutil.NoSuchProcess):
                self.team(process)
        for process in self.started:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(self.started, timeout=PATIENCE)


@contextmanager
def open_house(home: Path, settings: Mapping[str, str]) -> Iterator[House]:
    """Start a server and end it, and every worker, with the block; settings are of its environment and the workers'."""
    port = free_port()
    address = f"http://127.0.0.1:{port}/api"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")} | {
        # As where a team's workers run: their command is `prefect`.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": address,
        "PREFECT_LOCAL_STORAGE_PATH": str(home / "storage"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_EVENTS_PROACTIVE_GRANULARITY": "PT1S",
        "PREFECT_SERVER_UI_ENABLED": "false",
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "DO_NOT_TRACK": "1",
        **settings,
    }
    log = home / "server.log"
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with log.open("wb") as output:
        server = subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)
    try:
        while not reachable(address):
            assert server.poll() is None, log.read_text(encoding="utf-8")
            time.sleep(0.1)
        with SyncPrefectClient(address, auth_string=settings.get("PREFECT_API_AUTH_STRING")) as client:
            house = House(home, address, environment, client)
            try:
                yield house
            finally:
                house.end()
    finally:
        end_group(server, 10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Run:
    house: House
    id: UUID
    config: Config
    patience: float = PATIENCE

    def wait_for(self, what: str, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + self.patience
        while not condition():
            message = f"waited in vain until {what}: {self.states()}; {self.segments()}"
            assert time.monotonic() < deadline, message
            assert not self.times("Failed"), message
            time.sleep(0.1)

    def states(self) -> list[str]:
        return [str(state.name) for state in self.history()]

    def history(self) -> list[Any]:
        states = self.house.client.read_flow_run_states(self.id)
        return sorted(states, key=lambda state: state.timestamp)

    def times(self, state: str) -> int:
        return self.states().count(state)

    def mirrored_by(self, segment: int) -> bool:
        """Say whether the training has saved something in its n-th segment, from 1."""
        return any(manifest.fencing >= segment for mirror in self._mirrors() for manifest in mirror.manifests())

    def _mirrors(self) -> list[Mirror]:
        address = mirror_address(self.config)
        return [open_mirror(address, name) for name in trainings(address)]

    def segments(self) -> list[Segment]:
        return [segment for mirror in self._mirrors() for segment in read_segments(mirror.store, mirror.root)]

    def task_states(self, stage: str) -> list[str]:
        runs = self.house.client.read_task_runs()
        found = [run for run in runs if run.name == stage and run.start_time is not None]
        return [str(run.state_name) for run in sorted(found, key=lambda run: str(run.start_time))]
