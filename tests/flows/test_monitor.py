"""The monitor flow: the champion's logs scored and kept, its drift told once, and every want said in a sentence."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows import monitor as flow
from flows.monitor import Monitored, monitor
from schemas.config import Config
from schemas.errors import InputError
from tasks.lineage.artifacts import ArtifactStore
from tasks.monitor import stage as monitor_stage
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


@pytest.fixture(autouse=True)
def events(world: World, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Keep what would be sent: a server's answer to it is Prefect's. Nothing was told before."""
    shutil.rmtree(world.root / "alarms", ignore_errors=True)
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(flow, "emit_event", lambda name, **event: sent.append({"event": name, **event}))
    return sent


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
    world: World, tmp_path: Path, events: list[dict[str, Any]]
) -> None:
    logs = write_log(tmp_path / "log.jsonl", [*lines(range(4)), *lines(range(1), completion=f"{PUSH} CPF {CPF}")])
    monitored = run(world, logs)
    record = monitored.stage.record
    assert record.kind == "monitoring"
    assert (record.inputs["evaluation"], record.inputs["answers"]) == (world.evaluation.sha256, world.answers.sha256)
    assert {"prompts", "promotion"} <= record.inputs.keys()
    answers = pl.read_parquet(monitored.stage.path / "answers.parquet")
    assert answers.height == 200
    assert answers["completion"].str.contains("[CPF]", literal=True).sum() == 40
    for file in world.root.rglob("*"):
        assert not file.is_file() or CPF.encode() not in file.read_bytes(), file
    again = run(world, logs)
    assert again.stage.reused
    assert again.found == monitored.found
    assert not events


def test_drift_is_told_once_for_each_alarm(world: World, tmp_path: Path, events: list[dict[str, Any]]) -> None:
    bad = write_log(tmp_path / "log.jsonl", [*lines(range(3, 8)), *lines(range(3), completion=GARBAGE)])
    monitored = run(world, bad)
    assert monitored.drifted
    (event,) = events
    assert event["event"] == "tucano.drift"
    assert event["resource"]["prefect.resource.id"] == f"tucano.model.{MODEL}"
    assert event["payload"]["artifact"] == monitored.stage.record.sha256
    assert event["payload"]["reasons"] == monitored.found["drift"]["reasons"]
    run(world, bad)
    # Another day's logs hold the same alarms.
    run(world, write_log(tmp_path / "log.jsonl", [*lines(range(3, 9)), *lines(range(3), completion=GARBAGE)]))
    assert len(events) == 1


def test_logs_that_are_changed_between_hashing_and_reading_are_not_kept(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = write_log(tmp_path / "log.jsonl", lines(range(2)))
    read = monitor_stage.run

    def change_and_run(*arguments: Any, **options: Any) -> Any:
        logs.write_bytes(logs.read_bytes().replace(b"800.0", b"900.0"))
        return read(*arguments, **options)

    before = {record.sha256 for record in ArtifactStore(world.root / "artifacts").records("monitoring")}
    monkeypatch.setattr(monitor_stage, "run", change_and_run)
    with pytest.raises(InputError, match="were changed while they were read"):
        run(world, logs)
    assert {record.sha256 for record in ArtifactStore(world.root / "artifacts").records("monitoring")} == before


def test_an_event_that_could_not_be_sent_is_sent_by_the_next_run(
    world: World, tmp_path: Path, events: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = write_log(tmp_path / "log.jsonl", lines(range(5), completion=f"{GARBAGE} Atenciosamente."))
    with monkeypatch.context() as patch:
        patch.setattr(flow, "emit_event", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(world, bad)
    assert run(world, bad).stage.reused
    assert len(events) == 1


def test_what_is_wanting_is_said(world: World, tmp_path: Path) -> None:
    logs = write_log(tmp_path / "log.jsonl", lines(range(1)))
    with pytest.raises(InputError, match="no version of another is `champion`"):
        run(world, logs, world.config("promote.model_name=another"))
    with pytest.raises(InputError, match=r"no logs are given.*monitor\.logs"):
        monitor(world.config())
    broken = write_log(tmp_path / "broken.jsonl", [answer(), {"task": "push"}])
    before = {record.sha256 for record in ArtifactStore(world.root / "artifacts").records("monitoring")}
    with pytest.raises(InputError, match="line 2: prompt is missing"):
        run(world, broken)
    assert {record.sha256 for record in ArtifactStore(world.root / "artifacts").records("monitoring")} == before


def test_a_champion_whose_answers_are_lost_is_named(world: World, tmp_path: Path) -> None:
    logs = write_log(tmp_path / "log.jsonl", lines(range(1)))
    home = world.root / "artifacts" / "answers" / world.answers.sha256
    aside = home.rename(tmp_path / "aside")
    try:
        with pytest.raises(InputError, match="what version 1 of tucano2-commerce promised cannot be read"):
            run(world, logs)
    finally:
        aside.rename(home)


def test_scrubbing_leaves_what_it_is_given(world: World) -> None:
    texts = pl.Series("t", [f"meu CPF é {CPF}", "nada"])
    assert flow._scrubbed(texts).to_list() == ["meu CPF é [CPF]", "nada"]
    assert texts.to_list() == [f"meu CPF é {CPF}", "nada"]
