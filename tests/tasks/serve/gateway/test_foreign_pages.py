"""Senders that a server on loopback answers, and the pages of other sites that it refuses."""

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.websockets import WebSocket

from tasks.serve.gateway.limits import OwnPagesOnly

OWN = "127.0.0.1:4200"
ACCEPTED = [
    {"host": OWN},
    {"host": OWN, "origin": f"http://{OWN}"},
    {"host": "localhost:4200", "origin": "http://localhost:4200"},
    {"host": "[::1]:4200", "origin": "http://[::1]:4200"},
    # A tunnel or a proxy of this machine listens on a port of its own.
    {"host": "localhost:9000", "origin": "https://localhost:9000"},
]
REFUSED = [
    {"host": ""},
    {"host": "evil.example"},
    {"host": "127.0.0.1.evil.example"},
    {"host": "127.0.0.1@evil.example"},
    {"host": OWN, "origin": "null"},
    {"host": OWN, "origin": "https://evil.example"},
    {"host": OWN, "origin": "http://127.0.0.1:3000"},
    {"host": OWN, "origin": f"http://{OWN}.evil.example"},
    {"host": "localhost:4200", "origin": f"http://{OWN}"},
]


async def _greet(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("hello")


@pytest.fixture(scope="module")
def client() -> TestClient:
    methods = ["GET", "POST", "OPTIONS"]
    routes = [Route("/", lambda _: PlainTextResponse("hello"), methods=methods), WebSocketRoute("/", _greet)]
    return TestClient(OwnPagesOnly(Starlette(routes=routes)))


def test_this_machines_programs_and_a_servers_own_pages_are_answered(client: TestClient) -> None:
    for headers in ACCEPTED:
        assert client.post("/", headers=headers).text == "hello", headers
        with client.websocket_connect("/", headers=headers) as socket:
            assert socket.receive_text() == "hello", headers


def test_requests_and_websockets_of_foreign_pages_are_refused(client: TestClient) -> None:
    for headers in REFUSED:
        for method in ("GET", "POST", "OPTIONS"):
            response = client.request(method, "/", headers=headers)
            assert response.status_code == 403, (method, headers)
            assert not any(name.startswith("access-control") for name in response.headers)
        with pytest.raises(WebSocketDenialResponse) as refused, client.websocket_connect("/", headers=headers):
            pass
        assert refused.value.status_code == 403, headers
