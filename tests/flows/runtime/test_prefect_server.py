"""Prefect's and MLflow's servers on loopback answer no page of another site; a held version is an event."""

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from prefect import flow
from prefect.events.worker import EventsWorker
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.runtime.prefect_client import HELD_EVENT, emit_held
from flows.runtime.session import EXPERIMENT
from tests.house import free_port

EVIL = "https://evil.example"
HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "Sec-WebSocket-Protocol": "prefect",
}


@pytest.mark.integration
def test_a_foreign_page_can_ask_nothing_of_prefects_server(prefect_server: str) -> None:
    with httpx.Client(base_url=prefect_server) as http:
        for headers in ({"Origin": EVIL}, {"Origin": "null"}, {"Host": "evil.example"}):
            refused = http.post("/deployments/filter", json={}, headers=headers)
            assert refused.status_code == 403
            assert "access-control-allow-origin" not in refused.headers
            assert http.get("/events/in", headers=HANDSHAKE | headers).status_code == 403
        own = http.post("/deployments/filter", json={}, headers={"Origin": prefect_server.removesuffix("/api")})
        assert own.is_success
        assert "access-control-allow-origin" not in own.headers
        with http.stream("GET", "/events/in", headers=HANDSHAKE) as accepted:
            assert accepted.status_code == 101


@pytest.mark.integration
def test_a_foreign_page_can_ask_nothing_of_mlflows_pages(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "flows.runtime.prefect_server", "mlflow", str(port), str(tmp_path), EXPERIMENT]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, env={**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"})
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}") as http:
            while not _answers(http):
                assert server.poll() is None
                time.sleep(0.1)
            # MLflow by itself takes a name like an address of a local network, and any site's question to this path.
            for headers in ({"Host": "10.evil.example"}, {"Origin": EVIL}):
                assert http.post("/graphql", json={}, headers=headers).status_code == 403
    finally:
        server.kill()
        server.wait()


def _answers(http: httpx.Client) -> bool:
    try:
        return http.get("/health").is_success
    except httpx.ConnectError:
        return False


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
