"""A held version is an event on Prefect's server; and log lines that the server does not take are one warning."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import yaml
from prefect import flow
from prefect.events.worker import EventsWorker
from prefect.logging.handlers import APILogWorker
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.runtime.prefect_client import HELD_EVENT, emit_held, report_dropped_logs
from schemas.source import REPOSITORY


@flow
def hold() -> None:
    emit_held({"model": "shop", "version": "7", "reasons": ["overall is worse", "push is worse"]})


@pytest.mark.integration
def test_a_held_version_is_reported_with_its_reasons(prefect_server: str) -> None:
    with temporary_settings({PREFECT_API_URL: prefect_server}):
        hold()
        EventsWorker.drain_all(timeout=10)
    question = {"filter": {"event": {"name": [HELD_EVENT]}}}
    found: list[dict[str, object]] = []
    while not found:
        # The server writes events in its own time.
        time.sleep(0.1)
        found = httpx.post(f"{prefect_server}/events/filter", json=question).json()["events"]
    assert found[0]["resource"] == {
        "prefect.resource.id": "tucano.promotion.7",
        "prefect.resource.name": "shop version 7",
    }
    assert found[0]["payload"] == {"reason": "overall is worse; push is worse"}


def test_an_automation_waits_for_it() -> None:
    gates = yaml.safe_load((REPOSITORY / "infra" / "automations" / "gates.yaml").read_text(encoding="utf-8"))
    (held,) = [each for each in gates["automations"] if HELD_EVENT in each["trigger"]["expect"]]
    assert held["trigger"]["match"]["prefect.resource.id"] == "tucano.promotion.*"


async def refused(_: object) -> None:
    raise ConnectionError("of somebody\nand several lines")


@pytest.mark.parametrize("is_full", [True, False])
def test_lost_lines_are_one_warning_unless_the_disk_is_full(is_full: bool, capfd: pytest.CaptureFixture[str]) -> None:
    worker: Any = SimpleNamespace(_client=SimpleNamespace(create_logs=refused))
    before = APILogWorker._handle_batch
    with report_dropped_logs(unless=lambda: is_full):
        asyncio.run(APILogWorker._handle_batch(worker, [{}, {}]))
    told = "warning: 2 log lines are not on Prefect's pages (ConnectionError); the run goes on"
    assert " ".join(capfd.readouterr().err.split()) == ("" if is_full else told)
    assert APILogWorker._handle_batch is before
