"""An interrupted run of a deployment is scheduled again, others are not; tags, links and paths of a run."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
import yaml
from prefect import Flow, flow
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import State
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import Abort
from prefect.flow_engine import run_flow
from prefect.runtime import flow_run
from prefect.states import AwaitingRetry, Cancelling

from flows.deploy.apply import DEPLOYMENTS_FILE, declared
from flows.runtime import runs
from flows.runtime.runs import (
    INTERRUPTIONS_ALIKE,
    PAGES_VARIABLE,
    absolute_config,
    linked_to_mlflow,
    profile_tag,
    reschedule_on_interrupt,
)
from schemas.artifact import ArtifactRecord
from schemas.config.profiles import load_config
from schemas.errors import GateRefused, Interrupted
from schemas.source import REPOSITORY
from tests.flows.prefect_state import prefect_state

AUTOMATIONS = REPOSITORY / "infra" / "automations" / "rescheduling.yaml"
REST = 50.0
SECONDS_OF_SAVING = 0.5
"""Long enough for who asked a run to end, and ended, to be noticed while it saves."""

ERRORS = {error.__name__: error for error in (Interrupted, GateRefused)}


@flow(name="ends-by")
def ends_by(error: str, sentence: str) -> None:
    with reschedule_on_interrupt(REST):
        raise ERRORS[error](sentence)


@flow(name="cancelled")
def cancelled() -> None:
    with reschedule_on_interrupt(REST):
        with get_client(sync_client=True) as client:
            client.set_flow_run_state(UUID(flow_run.id), Cancelling())
        raise Interrupted("by whoever cancelled it")


@flow(name="waits")
def waits(log: Path) -> None:
    with reschedule_on_interrupt(REST):
        try:
            log.write_text("waits", encoding="utf-8")
            while True:
                time.sleep(0.1)
        except BaseException:
            print("to a supervisor that may be gone", flush=True)
            time.sleep(SECONDS_OF_SAVING)
            log.write_text("saved", encoding="utf-8")
            raise


@dataclass(frozen=True)
class Server:
    address: str
    client: SyncPrefectClient

    def start(self, deployed: Flow[..., None], **parameters: str) -> UUID:
        name = deployed.fn.__name__
        deployment = self.client.create_deployment(
            self.client.create_flow(deployed), name, entrypoint=f"{__name__}.{name}"
        )
        return self.client.create_flow_run_from_deployment(deployment, parameters=parameters).id

    def work_on(self, run: UUID, deployed: Flow[..., None]) -> None:
        run_flow(deployed, flow_run=self.client.read_flow_run(run))

    def state(self, run: UUID) -> State[None]:
        state = self.client.read_flow_run(run).state
        assert state is not None
        return state


@pytest.fixture
def server(prefect_server: str, tmp_path: Path) -> Iterator[Server]:
    with SyncPrefectClient(prefect_server) as client, prefect_state(prefect_server, tmp_path):
        yield Server(prefect_server, client)


@pytest.fixture
def unsupervised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run work in this process, whose stdin is the terminal's or a pipe of whoever runs the tests."""
    monkeypatch.setattr(runs, "sigterm_on_parent_exit", nullcontext)


@pytest.mark.integration
@pytest.mark.usefixtures("unsupervised")
def test_an_interrupted_run_rests_until_its_machine_is_gone(server: Server) -> None:
    run = server.start(ends_by, error="Interrupted", sentence="stopped after step 12")
    before = datetime.now(UTC)
    with pytest.raises(Abort):
        server.work_on(run, ends_by)
    state = server.state(run)
    assert state.name == "AwaitingRetry"
    assert state.message == "stopped after step 12"
    assert state.state_details.scheduled_time is not None
    assert state.state_details.scheduled_time >= before + timedelta(seconds=REST)


@pytest.mark.integration
@pytest.mark.usefixtures("unsupervised")
def test_a_run_that_is_interrupted_in_the_same_words_again_and_again_fails(server: Server) -> None:
    def interrupted(sentences: list[str]) -> str:
        run = server.start(ends_by, error="Interrupted", sentence="killed by SIGKILL")
        for words in sentences:
            server.client.set_flow_run_state(run, AwaitingRetry(message=words), force=True)
        with pytest.raises((Abort, Interrupted)):
            server.work_on(run, ends_by)
        return str(server.state(run).name)

    alike = ["killed by SIGKILL"] * INTERRUPTIONS_ALIKE
    assert interrupted(alike[1:]) == "AwaitingRetry"
    assert interrupted([*alike, "stopped after step 12"]) == "AwaitingRetry"
    assert interrupted(alike) == "Failed"


@pytest.mark.integration
@pytest.mark.usefixtures("unsupervised")
def test_a_run_that_fails_or_was_cancelled_is_not_scheduled_again(server: Server) -> None:
    failed, ended = server.start(ends_by, error="GateRefused", sentence="no such file"), server.start(cancelled)
    with pytest.raises(GateRefused, match="no such file"):
        server.work_on(failed, ends_by)
    with pytest.raises(Interrupted):
        server.work_on(ended, cancelled)
    for run in (failed, ended):
        assert "AwaitingRetry" not in [state.name for state in server.client.read_flow_run_states(run)]


@pytest.mark.integration
@pytest.mark.parametrize("asked", ["by a signal", "by the end of its supervisor"])
def test_a_run_that_is_asked_to_end_saves_and_is_scheduled_at_once(server: Server, tmp_path: Path, asked: str) -> None:
    log = tmp_path / "log"
    run = server.start(waits, log=str(log))
    engine = subprocess.Popen(
        [sys.executable, "-m", "prefect.engine", str(run)],
        cwd=REPOSITORY,
        env={**os.environ, "PREFECT_API_URL": server.address},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with engine:
        _wait(engine, lambda: log.exists() and log.read_text(encoding="utf-8") == "waits")
        if asked == "by a signal":
            engine.send_signal(signal.SIGTERM)
            engine.communicate()
        else:
            for pipe in (engine.stdin, engine.stdout):
                assert pipe is not None
                pipe.close()
        assert engine.wait() == 0
    assert log.read_text(encoding="utf-8") == "saved"
    state = server.state(run)
    assert state.name == "AwaitingRetry"
    assert state.state_details.scheduled_time is not None
    assert state.state_details.scheduled_time <= datetime.now(UTC)


def test_the_automations_are_prefects_and_speak_to_one_another() -> None:
    document = yaml.safe_load(AUTOMATIONS.read_text(encoding="utf-8"))
    lost, crashed = (AutomationCore.model_validate(each).model_dump(mode="json") for each in document["automations"])
    assert lost["actions"][0]["message"] in crashed["trigger"]["match"]["prefect.state-message"]
    attempts = crashed["trigger"]["match"]["prefect.run-count"]
    assert attempts == [str(number) for number in range(1, len(attempts) + 1)]
    assert lost["trigger"]["match_related"] == crashed["trigger"]["match_related"]


def test_no_deployments_run_is_lost_for_good() -> None:
    document = yaml.safe_load(AUTOMATIONS.read_text(encoding="utf-8"))
    for automation in document["automations"]:
        looked_at = automation["trigger"]["match_related"]["prefect.resource.id"]
        for deployment in declared(REPOSITORY, DEPLOYMENTS_FILE, "deployments"):
            assert {f"prefect.tag.{tag}" for tag in deployment["tags"]} & set(looked_at), deployment["name"]


def _wait(engine: "subprocess.Popen[bytes]", condition: Callable[[], bool]) -> None:
    while not condition():
        assert engine.poll() is None
        time.sleep(0.05)


def test_no_path_of_the_configuration_depends_on_where_a_worker_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "base").mkdir(parents=True)

    def overrides(folder: str) -> list[str]:
        paths = {"state.root": "state", "state.mirror": "mirror", "monitor.logs": "logs", "policy.name": "models/base"}
        named = [f"{name}={folder}{path}" for name, path in paths.items()]
        address = ["state.artifacts=gs://bucket/prefix", f"state.mlflow=sqlite:///{folder}mlflow.db"]
        return [*named, *address, "policy.stand_in=false"]

    config = absolute_config(load_config("local", overrides("")))
    assert config == absolute_config(config) == load_config("local", overrides(f"{tmp_path}/"))
    # A name of the hub stays as it is.
    assert absolute_config(load_config("l4")).policy.name == "Polygl0t/Tucano2-qwen-0.5B-Instruct"


RECORD = ArtifactRecord(
    kind="policy",
    sha256="3" * 64,
    files={},
    stage="train",
    code_version="c",
    config_digest="d",
    inputs={},
    created_at=datetime(2026, 1, 2, tzinfo=UTC),
    machine="laptop",
    mlflow_run_id="f" * 32,
)


@pytest.mark.parametrize("profile", ["l4", "infra/profiles/l4.toml", str(Path("/somebody/l4.toml"))])
def test_a_profile_is_tagged_by_its_name_and_nobodys_path(profile: str) -> None:
    assert profile_tag(profile) == "profile:l4"


@pytest.mark.parametrize(
    ("pages", "mlflow", "link"),
    [
        ("", None, None),
        ("", "http://mlflow:5000/", f"http://mlflow:5000/#/runs/{'f' * 32}"),
        ("http://seen", "http://mlflow:5000", f"http://seen/#/runs/{'f' * 32}"),
    ],
)
def test_a_link_leads_to_where_the_run_is_served(
    pages: str, mlflow: str | None, link: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PAGES_VARIABLE, pages)
    config = load_config("local", [f"state.mlflow={mlflow}"] if mlflow else [])
    assert (f"]({link})" if link else "`tucano ui` serves") in linked_to_mlflow("text", RECORD, config)
