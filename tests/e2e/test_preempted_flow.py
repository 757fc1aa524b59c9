"""A deployed retraining outlives its workers: asked to end, told that the machine is taken away, and killed."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import UUID

import psutil
import pytest
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import FlowRun
from prefect.workers.process import ProcessWorker

from flows.retrain import retrain
from flows.server import reachable
from flows.session import mirror_address
from schemas.config import REPOSITORY, Config
from schemas.profiles import load_config
from tasks.checkpoints.address import open_mirror, trainings
from tasks.checkpoints.manifest import Manifest
from tasks.checkpoints.stretches import Stretch, read_stretches
from tasks.policy.child import end_group
from tests.small_pipeline import PROFILE

pytestmark = pytest.mark.e2e

AUTOMATIONS = REPOSITORY / "infra" / "automations" / "rescheduling.yaml"
SECONDS_OF_SILENCE = 40
"""After which a run is lost: Prefect beats no more often than every 30."""
SECONDS_OF_A_NOTICE = 5.0
PATIENCE = 240
STEPS = 30
BEFORE_TRAINING = ("synthesize", "curate", "audit", "base")


class Metadata:
    """A machine's metadata server, which says whether the machine is taken away."""

    def __init__(self) -> None:
        self.preempted = threading.Event()
        preempted = self.preempted

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer = b"TRUE" if preempted.wait(timeout=0.5) else b"FALSE"
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @contextmanager
    def serving(self) -> Iterator[str]:
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{self.server.server_port}/preempted"
        finally:
            self.server.shutdown()
            thread.join()
            self.server.server_close()


@dataclass
class House:
    """A Prefect server with all its services and the workers that come and go."""

    home: Path
    address: str
    environment: dict[str, str]
    client: SyncPrefectClient
    started: list[psutil.Process] = field(default_factory=list)

    def prefect(self, *arguments: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "prefect", *arguments], env=self.environment, check=True, capture_output=True
        )

    def worker(self) -> psutil.Process:
        with (self.home / "workers.log").open("ab") as log:
            process = psutil.Popen(
                [sys.executable, "-m", "prefect", "worker", "start", "--pool", "retrain", "--type", "process"],
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
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


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}/api"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")} | {
        "PREFECT_HOME": str(tmp_path),
        "PREFECT_API_URL": address,
        "PREFECT_LOCAL_STORAGE_PATH": str(tmp_path / "storage"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_EVENTS_PROACTIVE_GRANULARITY": "PT1S",
        "PREFECT_SERVER_UI_ENABLED": "false",
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "DO_NOT_TRACK": "1",
    }
    log = tmp_path / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)],
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        while not reachable(address):
            assert server.poll() is None, log.read_text(encoding="utf-8")
            time.sleep(0.1)
        with SyncPrefectClient(address) as client:
            house = House(tmp_path, address, environment, client)
            try:
                yield house
            finally:
                house.end()
    finally:
        end_group(server, 10)


def configuration(state: Path, notice_url: str) -> Config:
    config = load_config(str(PROFILE))
    preemption = config.train.preemption.model_copy(update={"notice_url": notice_url, "seconds": SECONDS_OF_A_NOTICE})
    training = {"max_steps": STEPS, "evaluate_every": 10, "patience": STEPS, "preemption": preemption}
    return config.model_copy(
        update={
            "state": config.state.model_copy(update={"root": state}),
            "train": config.train.model_copy(update=training),
        }
    )


def deploy(house: House, config: Config) -> UUID:
    """Do what a team does once: install the automations, make a work pool and a deployment; and start a run."""
    automations = house.home / AUTOMATIONS.name
    text = AUTOMATIONS.read_text(encoding="utf-8")
    automations.write_text(text.replace("within: 90", f"within: {SECONDS_OF_SILENCE}"), encoding="utf-8")
    house.prefect("automation", "create", "--from-file", str(automations))
    template = ProcessWorker.get_default_base_job_template()
    house.client.create_work_pool(WorkPoolCreate(name="retrain", type="process", base_job_template=template))
    deployment = house.client.create_deployment(
        house.client.create_flow(retrain),
        "retrain",
        entrypoint="flows.retrain.retrain",
        work_pool_name="retrain",
        tags=["retrain"],
        job_variables={
            "command": f"{sys.executable} -m prefect flow-run execute",
            "env": {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30"},
        },
    )
    parameters = {"config": config.model_dump(mode="json"), "until": "train"}
    return house.client.create_flow_run_from_deployment(deployment, parameters=parameters).id


@dataclass(frozen=True)
class Run:
    house: House
    id: UUID
    config: Config

    def wait_for(self, what: str, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            told = f"waited in vain until {what}: {self.states()}; {self.stretches()}"
            assert time.monotonic() < deadline, told
            assert not self.times("Failed"), told
            time.sleep(0.1)

    def read(self) -> FlowRun:
        return self.house.client.read_flow_run(self.id)

    def states(self) -> list[str]:
        states = self.house.client.read_flow_run_states(self.id)
        return [str(state.name) for state in sorted(states, key=lambda state: state.timestamp)]

    def times(self, state: str) -> int:
        return self.states().count(state)

    def mirrored_by(self, stretch: int) -> bool:
        """Say whether the training has saved something in its n-th stretch, from 1."""
        return any(manifest.fencing >= stretch for manifest in self.manifests())

    def manifests(self) -> list[Manifest]:
        address = mirror_address(self.config)
        return [each for name in trainings(address) for each in open_mirror(address, name).manifests()]

    def stretches(self) -> list[Stretch]:
        address = mirror_address(self.config)
        mirrors = [open_mirror(address, name) for name in trainings(address)]
        return [stretch for mirror in mirrors for stretch in read_stretches(mirror.store, mirror.root)]

    def task_states(self, stage: str) -> list[str]:
        runs = self.house.client.read_task_runs()
        found = [run for run in runs if run.name == stage and run.start_time is not None]
        return [str(run.state_name) for run in sorted(found, key=lambda run: str(run.start_time))]


def test_a_deployed_run_goes_on_after_each_way_in_which_its_worker_ends(house: House) -> None:
    metadata = Metadata()
    with metadata.serving() as notice_url:
        config = configuration(house.home / "state", notice_url)
        run = Run(house, deploy(house, config), config)

        # Asked to end, a worker kills what it has started: the run itself must find the time to save.
        first = house.worker()
        run.wait_for("the first worker trains", lambda: run.mirrored_by(1))
        team = house.team(first)
        first.terminate()
        run.wait_for("the run waits for a worker", lambda: run.times("AwaitingRetry") == 1)
        assert psutil.wait_procs(team, timeout=PATIENCE)[1] == []

        second = house.worker()
        run.wait_for("the second worker trains", lambda: run.mirrored_by(2))
        metadata.preempted.set()
        run.wait_for("the run waits again", lambda: run.times("AwaitingRetry") == 2)
        state = run.read().state
        assert state is not None
        assert "the training stopped after step" in str(state.message)

        # The same worker takes the run once more: that machine was not taken away after all.
        metadata.preempted.clear()
        run.wait_for("the second worker trains once more", lambda: run.mirrored_by(3))
        team = house.team(second)
        for process in team[:-1]:
            process.kill()
        assert psutil.wait_procs(team, timeout=PATIENCE)[1] == []

        third = house.worker()
        run.wait_for("the automations bring the run back", lambda: run.times("AwaitingRetry") == 3)
        run.wait_for("the run is completed", lambda: run.times("Completed") == 1)
        third.terminate()

    assert run.read().run_count == 4
    assert run.times("Crashed") == 1
    for stage in BEFORE_TRAINING:
        assert run.task_states(stage) == ["Completed", "Cached", "Cached", "Cached"], stage
    assert run.task_states("train")[-1] == "Completed"
    stretches = run.stretches()
    assert [stretch.ended for stretch in stretches] == ["interrupted", "preempted", "vanished", "finished"]
    assert [stretch.from_step for stretch in stretches[1:]] == [stretch.to_step for stretch in stretches[:-1]]
    assert stretches[-1].to_step == STEPS
    assert all(stretch.from_step > 0 for stretch in stretches[1:])
