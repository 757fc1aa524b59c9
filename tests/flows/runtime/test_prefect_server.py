"""Prefect's and MLflow's servers on loopback: no page of another site reaches them."""

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from flows.runtime.prefect_server import session_server
from flows.runtime.session import EXPERIMENT
from tests.house import free_port
from tests.prefect_server import PlaceDatabase

EVIL = "https://evil.example"
HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "Sec-WebSocket-Protocol": "prefect",
}


@pytest.mark.integration
def test_a_foreign_page_can_ask_nothing_of_prefects_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefect_home: PlaceDatabase
) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(prefect_home(tmp_path / "home")))
    monkeypatch.setenv("PREFECT_SERVER_CORS_ALLOWED_ORIGINS", "*")
    with session_server(tmp_path / "log") as address, httpx.Client(base_url=address) as http:
        for headers in ({"Origin": EVIL}, {"Origin": "null"}, {"Host": "evil.example"}):
            refused = http.post("/deployments/filter", json={}, headers=headers)
            assert refused.status_code == 403
            assert "access-control-allow-origin" not in refused.headers
            assert http.get("/events/in", headers=HANDSHAKE | headers).status_code == 403
        own = http.post("/deployments/filter", json={}, headers={"Origin": address.removesuffix("/api")})
        assert own.json() == []
        assert "access-control-allow-origin" not in own.headers
        with http.stream("GET", "/events/in", headers=HANDSHAKE) as accepted:
            assert accepted.status_code == 101


@pytest.mark.integration
def test_a_foreign_page_can_ask_nothing_of_mlflows_pages(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "flows.runtime.mlflow_server", str(tmp_path), str(port), EXPERIMENT]
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
