"""The monitor flow: the champion's logs scored and kept, its drift reported once, and every want said in a sentence."""

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import polars as pl
import pytest
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterId
from prefect.events.schemas.automations import AutomationCore

from flows.monitor import monitor
from flows.runtime.prefect_client import DRIFT_EVENT
from flows.stages.monitor import Monitored
from schemas.config.config import Config
from schemas.errors import InputError
from tasks.lineage.store.artifacts import ArtifactStore
from tests.flows.monitored import MODEL, World, shared_world
from tests.flows.prefect_state import prefect_state
from tests.tasks.monitor.logged import PUSH, answer, write_log

pytestmark = pytest.mark.integration

CPF = "529.982.247-25"
GARBAGE = "Prezado cliente, segue em anexo a proposta comercial para a sua apreciação."


@pytest.fixture(scope="module")
def world(prefect_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    shared = shared_world(tmp_path_factory.getbasetemp())
    with prefect_state(prefect_server, shared.root):
        yield shared


@dataclass(frozen=True)
class Retraining:
    """A deployment that an automation of the server starts for each event, as `model-drifted` does."""

    client: SyncPrefectClient
    deployment: UUID
    automation: UUID

    def started(self, least: int) -> list[dict[str, str]]:
        """Return what the runs that were started were given, once there are so many."""
        wanted = DeploymentFilter(id=DeploymentFilterId(any_=[self.deployment]))
        while len(found := self.client.read_flow_runs(deployment_filter=wanted)) < least:
            time.sleep(0.05)
        return [run.parameters for run in found]

    def waits(self, *, enabled: bool) -> None:
        """Switch the automation on or off."""
        (self.client.resume_automation if enabled else self.client.pause_automation)(self.automation)


@pytest.fixture
def retraining(prefect_server: str) -> Iterator[Retraining]:
    with SyncPrefectClient(prefect_server) as client:
        deployment = client.create_deployment(client.create_flow_from_name("retrain"), f"retrain-{uuid4()}")
        start = {"type": "run-deployment", "source": "selected", "deployment_id": str(deployment)}
        parameters = {"model": "{{ event.resource.id }}", "payload": "{{ event.payload | tojson }}"}
        trigger = {"type": "event", "posture": "Reactive", "expect": ["tucano.drift"], "threshold": 1, "within": 0}
        automation = client.create_automation(
            AutomationCore.model_validate(
                {"name": "on-drift", "trigger": trigger, "actions": [{**start, "parameters": parameters}]}
            )
        )
        yield Retraining(client, deployment, automation)
        client.delete_automation(automation)
        client.delete_deployment(deployment)


@pytest.fixture(autouse=True)
def _nothing_was_reported(world: World) -> None:
    shutil.rmtree(world.root / "alarms", ignore_errors=True)


def lines(days: range, **values: Any) -> list[dict[str, Any]]:
    now = datetime.now(UTC)
    return [
        answer(time=(now - timedelta(days=day, minutes=number)).isoformat(), **values)
        for day in days
        for number in range(40)
    ]


def run(world: World, path: Path, config: Config | None = None) -> Monitored:
    return monitor(config or world.config("monitor.workers=1"), path)


def test_logs_are_kept_scrubbed_with_the_lineage_of_their_champion(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = write_log(
        tmp_path / "log.jsonl", [*lines(range(5)), *list(lines(range(1), completion=f"{PUSH} CPF {CPF}"))[:2]]
    )
    monitored = run(world, logs)
    record = monitored.stage.record
    assert record.kind == "monitoring"
    assert (record.inputs["evaluation"], record.inputs["answers"]) == (world.evaluation.sha256, world.answers.sha256)
    assert {"prompts", "promotion"} <= record.inputs.keys()
    answers = pl.read_parquet(monitored.stage.path / "answers.parquet")
    assert answers.height == 202
    assert answers["completion"].str.contains("[CPF]", literal=True).sum() == 2
    for file in world.root.rglob("*"):
        assert not file.is_file() or CPF.encode() not in file.read_bytes(), file
    again = run(world, logs)
    assert again.stage.reused
    assert again.found == monitored.found
    assert DRIFT_EVENT not in capsys.readouterr().err


def test_drift_is_reported_once_for_each_alarm(
    world: World, tmp_path: Path, retraining: Retraining, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = write_log(tmp_path / "log.jsonl", [*lines(range(3, 8)), *lines(range(3), completion=GARBAGE)])
    monitored = run(world, bad)
    assert monitored.reasons
    (event,) = retraining.started(1)
    assert event["model"] == f"tucano.model.{MODEL}"
    payload = json.loads(event["payload"])
    assert payload["artifact"] == monitored.stage.record.sha256
    assert payload["reasons"] == monitored.found["drift"]["reasons"]
    assert "for which the server's automation on-drift waits" in capsys.readouterr().err
    run(world, bad)
    # Another day's logs hold the same alarms.
    run(world, write_log(tmp_path / "log.jsonl", [*lines(range(3, 9)), *lines(range(3), completion=GARBAGE)]))
    assert capsys.readouterr().err.count("sent before; no event is sent") == 2
    assert len(retraining.started(1)) == 1
    # Rolled back to, it serves again.
    world.serves_since(datetime.now(UTC) - timedelta(days=50))
    run(world, bad)
    assert "on-drift waits" in capsys.readouterr().err
    assert len(retraining.started(2)) == 2


def test_an_event_that_the_server_does_not_take_is_sent_by_the_next_run(
    world: World,
    tmp_path: Path,
    retraining: Retraining,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bad = write_log(tmp_path / "log.jsonl", lines(range(5), completion=f"{GARBAGE} Atenciosamente."))
    request = SyncPrefectClient.request

    def elsewhere(client: SyncPrefectClient, method: Any, path: Any, **options: Any) -> Any:
        where: Any = "/nowhere" if path == "/events" else path
        return request(client, method, where, **options)

    with monkeypatch.context() as patch:
        patch.setattr(SyncPrefectClient, "request", elsewhere)
        assert run(world, bad).reasons
    said = capsys.readouterr().err
    assert "the event tucano.drift could not be sent: the Prefect server at http://127.0.0.1" in said
    assert "the next run sends it again" in said
    assert run(world, bad).stage.reused
    assert "on-drift waits" in capsys.readouterr().err
    assert len(retraining.started(1)) == 1


def test_silence_is_an_alarm_of_the_same_logs(
    world: World, tmp_path: Path, retraining: Retraining, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    write_log(logs / "log.jsonl", lines(range(1, 4)))
    config = world.config("monitor.workers=1", "monitor.silence_hours=900")
    heard = run(world, logs, config)
    assert heard.reasons == []
    # The same logs, later: what was found in them is reused, and the silence is seen.
    config = world.config("monitor.workers=1", "monitor.silence_hours=1e-5")
    later = run(world, logs, config)
    assert (later.stage.reused, later.found) == (True, heard.found)
    assert [reason.split(":")[0] for reason in later.reasons] == ["silence"]
    assert "waits for the event tucano.operations, so that nobody is notified" in capsys.readouterr().err
    write_log(logs / "log.jsonl", [])
    with pytest.raises(InputError, match="with an answer in it"):
        run(world, logs, config)
    assert DRIFT_EVENT not in capsys.readouterr().err


def test_missing_inputs_are_named(world: World, tmp_path: Path) -> None:
    logs = write_log(tmp_path / "log.jsonl", lines(range(1)))
    with pytest.raises(InputError, match="no version of another is registered"):
        run(world, logs, world.config("promote.model_name=another"))
    broken = write_log(tmp_path / "broken.jsonl", [answer(), {"task": "push"}])
    before = {record.sha256 for record in ArtifactStore(world.root / "artifacts").records("monitoring")}
    with pytest.raises(InputError, match="line 2: prompt is missing"):
        run(world, broken)
    assert {record.sha256 for record in ArtifactStore(world.root / "artifacts").records("monitoring")} == before
