"""A run waits for scores without a process, asks again while some are missing, and goes on once they are there."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from prefect import flow, task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect.client.schemas.responses import SetStateStatus
from prefect.client.schemas.sorting import ArtifactSort
from prefect.events.worker import EventsWorker
from prefect.logging.handlers import APILogWorker
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
    PREFECT_LOCAL_STORAGE_PATH,
    temporary_settings,
)
from prefect.states import AwaitingRetry

from flows.runtime.human_gate import SHEET_ARTIFACT, ScoresDone, wait_for_scores
from flows.runtime.prefect_server import reachable
from schemas.documents import Rollout
from schemas.errors import Interrupted
from schemas.source import REPOSITORY
from tasks.audit.rubrics import RUBRICS_FOLDER
from tasks.audit.scoring import with_score
from tasks.audit.sheet import as_row, is_scored, read_rows, write_rows
from tasks.policy.child import end_group
from tests.prefect_server import PlaceDatabase

COMPLETIONS = 3
TOO_SHORT = 1 / 86_400
WEEK = 7.0
SECONDS_TO_END = 5


@task(cache_policy=CacheKeyFnPolicy(cache_key_fn=lambda _, given: str(given["log"].parent.name)), persist_result=True)
def make(log: Path) -> str:
    _note(log, "made")
    return "an artifact"


@flow(name="earlier", validate_parameters=False)
def earlier(log: Path) -> str:
    return make(log)


@flow(name="gated")
def gated(sheet: Path, log: Path, days: float) -> None:
    """Do what `retrain` does: an earlier stage, the sheet looked at again each time, and what comes after it."""
    artifact = earlier(log)
    while unscored := sum(not is_scored(row) for row in read_rows(sheet)):
        try:
            wait_for_scores(sheet, unscored, days)
        except BaseException as error:
            _note(log, f"left because {error.__cause__ or error}")
            raise
    _note(log, f"went on with {artifact}")


@dataclass(frozen=True)
class Server:
    """A Prefect server with all its services, as a team leaves it running."""

    address: str
    environment: dict[str, str]
    client: SyncPrefectClient
    deployment: UUID

    def page(self) -> str:
        """Return what a run has shown last of its sheet."""
        shown = ArtifactFilter(key=ArtifactFilterKey(any_=[SHEET_ARTIFACT]))
        (artifact,) = self.client.read_artifacts(artifact_filter=shown, limit=1, sort=ArtifactSort.CREATED_DESC)
        return str(artifact.data)


@dataclass(frozen=True)
class Run:
    """A run of the deployment, with a sheet of its own."""

    server: Server
    id: UUID
    sheet: Path
    log: Path

    def execute(self) -> None:
        """Work on the run in a process of its own, as a worker does, until that process ends by itself."""
        command = [sys.executable, "-m", "prefect.engine", str(self.id)]
        ended = subprocess.run(
            command, cwd=REPOSITORY, env=self.server.environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr

    def state(self) -> str:
        return str(self.server.client.read_flow_run(self.id).state_name)

    def states(self) -> list[str]:
        return [str(state.name) for state in self.server.client.read_flow_run_states(self.id)]

    def resume(self, answer: dict[str, Any]) -> SetStateStatus:
        return self.server.client.resume_flow_run(self.id, run_input=answer).status

    def wait_until_failed(self) -> None:
        while (state := self.state()) != "Failed":
            assert state == "Suspended"
            time.sleep(0.1)

    def retry(self) -> None:
        self.server.client.set_flow_run_state(self.id, AwaitingRetry())

    def score(self, completions: int) -> None:
        _score(self.sheet, completions)

    def notes(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, prefect_home: PlaceDatabase) -> Iterator[Server]:
    home = prefect_home(tmp_path_factory.mktemp("prefect"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}/api"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")} | {
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": address,
        "PREFECT_LOCAL_STORAGE_PATH": str(home / "storage"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_SERVICES_PAUSE_EXPIRATIONS_LOOP_SECONDS": "1",
        "PREFECT_SERVER_UI_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }
    log = home / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)],
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    settings = {
        PREFECT_API_URL: address,
        PREFECT_LOCAL_STORAGE_PATH: home / "storage",
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
    }
    try:
        while not reachable(address):
            assert process.poll() is None, log.read_text(encoding="utf-8")
            time.sleep(0.1)
        with SyncPrefectClient(address) as client, temporary_settings(settings):
            deployment = client.create_deployment(
                client.create_flow(gated), "gated", entrypoint=f"{gated.__module__}.gated"
            )
            yield Server(address, environment, client, deployment)
            # At the interpreter's end Prefect would try for a minute to reach an ended server.
            APILogWorker.drain_all(timeout=SECONDS_TO_END)
            EventsWorker.drain_all(timeout=SECONDS_TO_END)
    finally:
        end_group(process, SECONDS_TO_END)


def start(server: Server, folder: Path, days: float) -> Run:
    sheet, log = _new_sheet(folder / "a sheet.csv"), folder / "log"
    parameters = {"sheet": str(sheet), "log": str(log), "days": days}
    run = server.client.create_flow_run_from_deployment(server.deployment, parameters=parameters)
    return Run(server, run.id, sheet, log)


@pytest.mark.integration
def test_a_run_is_suspended_until_every_completion_is_scored(server: Server, tmp_path: Path) -> None:
    run = start(server, tmp_path, WEEK)
    run.execute()
    assert run.state() == "Suspended"
    assert run.notes() == ["made", f"left because suspended: 3 completions of {run.sheet} wait for a score"]
    page = server.page()
    assert "3 completions" in page
    assert f"\n{run.sheet}\n" in page
    assert f"\ntucano audit label '{run.sheet}' --rater" in page
    assert str(RUBRICS_FOLDER.relative_to(REPOSITORY)) in page

    form = {name: _input(run, f"suspended-scores-1-{name}") for name in ("description", "schema")}
    assert f"3 completions of {run.sheet} wait" in form["description"]
    assert "Pseudonym" in form["schema"]["properties"]["scored_by"]["description"]
    for answer in ({}, {"scored_by": ""}, {"scored_by": "ana@loja.com.br"}, {"scored_by": "ana", "more": 1}):
        assert run.resume(answer) == SetStateStatus.REJECT, answer
    assert run.state() == "Suspended"

    run.score(COMPLETIONS - 1)
    assert run.resume({"scored_by": "ana\n"}) == SetStateStatus.ACCEPT
    run.execute()
    assert run.state() == "Suspended"
    assert run.notes()[2:] == [f"left because suspended: 1 completions of {run.sheet} wait for a score"]
    assert "1 completions" in server.page()
    assert "ana said that every completion is scored" in _input(run, "suspended-scores-2-description")

    run.score(COMPLETIONS)
    assert run.resume({"scored_by": "ana"}) == SetStateStatus.ACCEPT
    run.execute()
    assert run.state() == "Completed"
    assert run.notes()[3:] == ["went on with an artifact"]


@pytest.mark.integration
def test_a_run_that_waited_in_vain_has_failed_and_asks_again_when_it_is_retried(server: Server, tmp_path: Path) -> None:
    run = start(server, tmp_path, TOO_SHORT)
    run.execute()
    run.wait_until_failed()
    assert run.resume({"scored_by": "ana"}) == SetStateStatus.ABORT
    run.retry()
    run.execute()
    assert run.states().count("Suspended") == 2
    left = f"left because suspended: 3 completions of {run.sheet} wait for a score"
    assert run.notes() == ["made", left, left]


@pytest.mark.integration
def test_a_run_without_a_deployment_tells_how_to_score_and_to_go_on(server: Server, tmp_path: Path) -> None:
    sheet, log = _new_sheet(tmp_path / "a sheet.csv"), tmp_path / "log"
    _score(sheet, 1)
    with pytest.raises(Interrupted) as caught:
        gated(sheet, log, WEEK)
    assert caught.value.exit_code == 4
    reported = str(caught.value)
    assert reported.startswith(f"2 completions of {sheet} wait for a score")
    for way in ("in a spreadsheet", f"in the browser with `tucano audit label '{sheet}' --rater"):
        assert way in reported
    assert "run the same command again" in reported
    page = server.page()
    assert str(sheet) in page
    assert "run the same command again" in page
    assert "Resume" not in page
    _score(sheet, COMPLETIONS)
    gated(sheet, log, WEEK)
    assert log.read_text(encoding="utf-8").splitlines() == [
        "made",
        f"left because {reported}",
        "went on with an artifact",
    ]


def test_the_form_asks_for_nothing_personal() -> None:
    assert list(ScoresDone.model_fields) == ["scored_by"]


def _input(run: Run, key: str) -> Any:
    return json.loads(run.server.client.read_flow_run_input(run.id, key))


def _new_sheet(path: Path) -> Path:
    rollouts = [
        Rollout(prompt_id=f"p{number}", task="push", prompt="Escreva um push.", completion=f"Oferta {number}!")
        for number in range(COMPLETIONS)
    ]
    write_rows(path, [as_row(rollout, "random") for rollout in rollouts])
    return path


def _score(sheet: Path, completions: int) -> None:
    rows = read_rows(sheet)
    for row in rows[:completions]:
        rows = with_score(rows, row["audit_id"], "ana", "human", 4, "")
    write_rows(sheet, rows)


def _note(log: Path, text: str) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")
