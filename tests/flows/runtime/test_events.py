"""A version that the gate holds back is reported on Prefect's server, for the automation that notifies people."""

import time

import httpx
import pytest
import yaml
from prefect import flow
from prefect.events.worker import EventsWorker
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.runtime.events import HELD_EVENT, emit_held
from schemas.source import REPOSITORY

pytestmark = pytest.mark.integration


@flow
def hold() -> None:
    emit_held({"model": "shop", "version": "7", "reasons": ["overall is worse", "push is worse"]})


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
