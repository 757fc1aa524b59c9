"""Clients that leave keep no place."""

import json
import socket
from pathlib import Path

from tests.chat_server import says
from tests.gateway import Gateway, running, wait_for


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
