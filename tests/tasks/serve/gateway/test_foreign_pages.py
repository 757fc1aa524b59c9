"""Senders that a server on loopback answers, and the pages of other sites that it refuses."""

import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.websockets import WebSocket

from tasks.serve.gateway.limits import OwnPagesOnly, foreign_sender
from tests.cases import cases_of

CASES = cases_of(__file__)


async def _greet(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("hello")


def test_this_machines_programs_and_a_servers_own_pages_are_answered() -> None:
    for headers in CASES["ACCEPTED"]:
        assert foreign_sender(Headers(headers)) is None, headers
    for headers in CASES["REFUSED"]:
        assert foreign_sender(Headers(headers)) is not None, headers


def test_requests_and_websockets_of_foreign_pages_are_refused() -> None:
    routes = [Route("/", lambda _: PlainTextResponse("hello"), methods=["GET", "OPTIONS"]), WebSocketRoute("/", _greet)]
    client = TestClient(OwnPagesOnly(Starlette(routes=routes)))
    own, foreign = CASES["ACCEPTED"][1], CASES["REFUSED"][5]
    assert client.get("/", headers=own).text == "hello"
    with client.websocket_connect("/", headers=own) as socket:
        assert socket.receive_text() == "hello"
    for method in ("GET", "OPTIONS"):
        response = client.request(method, "/", headers=foreign)
        assert response.status_code == 403
        assert not any(name.startswith("access-control") for name in response.headers)
    with pytest.raises(WebSocketDenialResponse) as refused, client.websocket_connect("/", headers=foreign):
        pass
    assert refused.value.status_code == 403
