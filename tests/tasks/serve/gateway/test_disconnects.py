"""Clients that leave keep no place; one that keeps a connection without a request loses it."""

import json
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tasks.serve.gateway.disconnects import impatient
from tests.chat_server import says
from tests.gateway import Gateway, listening, running, wait_for


def _ask(gateway: Gateway) -> socket.socket:
    body = json.dumps({"review": "Ruim"}).encode()
    client = socket.create_connection(("127.0.0.1", gateway.port), 20)
    head = "POST /v1/tasks/sentiment HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length:"
    client.sendall(f"{head} {len(body)}\r\n\r\n".encode() + body)
    return client


def test_clients_that_hang_up_while_they_wait_keep_no_place(tmp_path: Path) -> None:
    slow = says("", "stop")
    slow.seconds = 20
    with running(tmp_path, lambda message, number: slow, concurrency=1, queue=1) as gateway:
        clients = [_ask(gateway) for _ in range(2)]
        wait_for(lambda: gateway.answering.requests_inside == 2, 5)
        for client in clients:
            client.close()
        wait_for(lambda: gateway.answering.requests_inside == 0, 5)


SECONDS = 0.4


async def _app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 9_000])
def test_a_header_that_does_not_end_ends_its_connection(sent: bytes) -> None:
    with (
        listening(_app, http=impatient(SECONDS, 100)) as port,
        socket.create_connection(("127.0.0.1", port), 20) as client,
    ):
        client.sendall(sent)
        assert client.recv(1000) == b""


def test_connections_that_owe_a_request_give_way_to_others() -> None:
    with listening(_app, http=impatient(60, 4)) as port:
        idle = [socket.create_connection(("127.0.0.1", port), 20) for _ in range(10)]
        for client in idle[:6]:
            assert client.recv(1000) == b""
        with socket.create_connection(("127.0.0.1", port), 20) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert client.recv(1000).startswith(b"HTTP/1.1 200")
        for client in idle:
            client.close()


async def _large(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(30):
        await send({"type": "http.response.body", "body": b"a" * 1_000_000, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def test_a_client_that_does_not_read_is_cut_off() -> None:
    with listening(_large, http=impatient(SECONDS, 100)) as port, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", port))
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(3 * SECONDS)
        received = 0
        with suppress(ConnectionError):
            while piece := client.recv(1_000_000):
                received += len(piece)
        assert received < 30_000_000
