"""A team's set-up, whole: deployed by one command, killed in training, brought back by nobody, and promoted.

It takes some 15 minutes on each database, so `make test` leaves it out: `make test-deployed` runs it.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import httpx
import psutil
import pytest
from prefect.client.schemas.objects import FlowRun

from flows.runtime.session import open_registry, open_store
from flows.stages.remote import REMOTE_FOLDER
from schemas.artifact import ArtifactKind
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.source import REPOSITORY
from tasks.policy.child import end_group
from tests.house import House, Run, free_port, open_house

pytestmark = pytest.mark.deployed

PATIENCE = 1_200
PASSWORD = "a password of the tests' own"
ALL_DEPLOYMENTS = {
    "retrain/retrain",
    "training/train",
    "inference/inference",
    "retrain/evaluate",
    "retrain/audit",
    "monitor/monitor",
    "prune/prune",
}


@dataclass(frozen=True)
class Team:
    """Servers, and the configuration of whoever retrains with them."""

    house: House
    settings: tuple[str, ...]

    @property
    def config(self) -> Config:
        return load_config("local", self.settings)

    def tucano(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        overrides = [word for setting in self.settings for word in ("--set", setting)]
        command = [sys.executable, "-m", "flows", *arguments, "--profile", "local", *overrides]
        return subprocess.run(command, env=self.house.environment, capture_output=True, text=True, check=False)


@pytest.fixture(params=["on SQLite", "on PostgreSQL"])
def team(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Team]:
    settings = (
        f"state.root={tmp_path / 'state'}",
        f"state.artifacts={tmp_path / 'place'}",
        "workers.training=training/train",
    )
    if request.param == "on SQLite":
        with open_house(tmp_path, {}) as house:
            yield Team(house, settings)
        return
    own = {"MLFLOW_TRACKING_USERNAME": "worker", "MLFLOW_TRACKING_PASSWORD": PASSWORD}
    keys = dict.fromkeys(("PREFECT_SERVER_API_AUTH_STRING", "PREFECT_API_AUTH_STRING"), f"admin:{PASSWORD}")
    with postgresql(("prefect", "mlflow")) as address, mlflow_server(tmp_path / "mlflow", address) as tracking:
        database = {"PREFECT_SERVER_DATABASE_CONNECTION_URL": f"postgresql+asyncpg://{address}/prefect"}
        with open_house(tmp_path, database | keys | own) as house, patch.dict(os.environ, own):
            yield Team(house, (*settings, f"state.mlflow={tracking}"))


# It refuses to run as root.
USER = "postgres"


@contextmanager
def postgresql(databases: tuple[str, ...]) -> Iterator[str]:
    """Start PostgreSQL on loopback with some databases, and give its address, `USER@HOST:PORT`."""
    if shutil.which("initdb") is None or shutil.which("pg_ctl") is None:
        pytest.skip("PostgreSQL is not installed")
    as_root = os.geteuid() == 0
    # Not where the tests' own files are: another user could not reach it there.
    home = Path(tempfile.mkdtemp(prefix="postgresql-"))
    if as_root:
        shutil.chown(home, USER)

    def run(*command: str) -> None:
        subprocess.run(command, check=True, cwd=home, stdout=subprocess.DEVNULL, user=USER if as_root else None)

    port = free_port()
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={home}"
    run("initdb", "--pgdata", str(home / "data"), "--username", USER, "--auth", "trust", "--encoding", "UTF8")
    run("pg_ctl", "--pgdata", str(home / "data"), "--log", str(home / "log"), "--options", options, "--wait", "start")
    try:
        for database in databases:
            run("createdb", "--host", "127.0.0.1", "--port", str(port), "--username", USER, database)
        yield f"{USER}@127.0.0.1:{port}"
    finally:
        run("pg_ctl", "--pgdata", str(home / "data"), "--mode", "immediate", "--wait", "stop")
        shutil.rmtree(home)


@contextmanager
def mlflow_server(home: Path, address: str) -> Iterator[str]:
    """Serve MLflow with authentication over PostgreSQL, by the script of the image."""
    home.mkdir()
    port = free_port()
    log = home / "server.log"
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "MLFLOW_PORT": str(port),
        "MLFLOW_BACKEND_STORE_URI": f"postgresql+psycopg2://{address}/mlflow",
        "MLFLOW_SERVE_ARTIFACTS": "true",
        "MLFLOW_ARTIFACTS_DESTINATION": str(home / "artifacts"),
        "MLFLOW_AUTH_ADMIN_PASSWORD": f"{PASSWORD}, for people",
        "MLFLOW_WORKER_PASSWORD": PASSWORD,
        "MLFLOW_FLASK_SERVER_SECRET_KEY": PASSWORD,
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    script = str(REPOSITORY / "infra" / "docker" / "mlflow-server.sh")
    with log.open("wb") as output:
        server = subprocess.Popen([script], env=environment, stdout=output, stderr=output, start_new_session=True)
    try:
        while not answers(f"http://127.0.0.1:{port}/health"):
            assert server.poll() is None, log.read_text(encoding="utf-8")
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        end_group(server, 10)


def answers(address: str) -> bool:
    try:
        return httpx.get(address, timeout=5).is_success
    except httpx.HTTPError:
        return False


def kill(house: House, *workers: psutil.Process) -> None:
    """Take machines away: each worker, the engines of its runs and whatever these started, at once."""
    team = [process for worker in workers for process in house.team(worker)]
    for process in team:
        process.kill()
    assert psutil.wait_procs(team, timeout=60)[1] == []


def test_a_deployed_retraining_comes_back_from_sigkill_by_itself_and_is_promoted(team: Team) -> None:
    house = team.house
    applied = team.tucano("infra", "apply")
    assert applied.returncode == 0, applied.stderr
    assert {
        f"{house.client.read_flow(deployment.flow_id).name}/{deployment.name}"
        for deployment in house.client.read_deployments()
    } == ALL_DEPLOYMENTS

    cpu, gpu = house.worker("cpu"), house.worker("l4-spot")
    deployment = house.client.read_deployment_by_name("retrain/retrain")
    run = Run(house, house.client.create_flow_run_from_deployment(deployment.id).id, team.config, PATIENCE)

    def planned() -> int:
        return sum(each.auto_scheduled and each.deployment_id == deployment.id for each in all_runs())

    def all_runs() -> list[FlowRun]:
        return house.client.read_flow_runs()

    run.wait_for("the server has planned the weeks to come", lambda: planned() > 1)
    run.wait_for("the training saves something", lambda: run.mirrored_by(1))
    kill(house, cpu, gpu)

    house.worker("cpu")
    gpu = house.worker("l4-spot")
    run.wait_for("the training goes on", lambda: run.mirrored_by(2))
    # While it trains, the machine that waits for it lives on.
    kill(house, gpu)

    house.worker("l4-spot")
    run.wait_for("the run is completed", lambda: run.times("Completed") == 1)

    # Nobody lent a hand: the automations did.
    assert run.times("Crashed") == 1
    assert [each.state_name for each in all_runs() if str(each.name).startswith("train-20")] == ["Completed"]
    segments = run.segments()
    assert [segment.ended for segment in segments] == ["vanished", "vanished", "finished"]
    assert [segment.from_step for segment in segments[1:]] == [segment.to_step for segment in segments[:-1]]
    assert segments[1].from_step > 0
    for stage in ("synthesize", "curate", "audit", "base"):
        assert run.task_states(stage)[-1] == "Cached", stage

    champion = open_registry(team.config).holder("tucano2-commerce", "champion")
    assert champion is not None
    policy = open_store(team.config).record(champion.policy)
    assert policy.stage == "train"
    # The policy that was trained elsewhere is the one that was evaluated and promoted here.
    there = team.config.model_copy(
        update={"state": team.config.state.model_copy(update={"root": team.config.state.root / REMOTE_FOLDER})}
    )
    assert open_store(there).record(champion.policy) == policy

    # What else needs weights was done where training was.
    inferences = {str(each.id): each for each in all_runs() if str(each.name).startswith("inference-")}
    assert {each.work_pool_name for each in inferences.values()} == {"l4-spot"}
    kinds: tuple[ArtifactKind, ...] = ("base", "merged", "answers")
    for record in (record for kind in kinds for record in open_store(team.config).records(kind)):
        assert record.worker is not None, record.stage
        assert record.worker.prefect_run_id in inferences, record.stage

    lineage = team.tucano("lineage", champion.policy, "--verify", "--json")
    assert lineage.returncode == 0, lineage.stderr
    assert json.loads(lineage.stdout)
