"""Clients that leave, or are too slow for the deadline, keep no place, leave no traceback and are counted."""

import asyncio
import json
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chat_server import says
from tests.gateway import Gateway, listening, running, wait_for

PIECES = 200
SECONDS = 0.05
SENT = {"model": "shop/push", "messages": [{"role": "user", "content": "Produto: fone"}], "stream": True}


async def _slow_engine(scope: Any, receive: Any, send: Any) -> None:
    """Stream an answer in ten seconds."""
    left = asyncio.ensure_future(_left(receive))
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for number in range(PIECES):
        await asyncio.wait([left], timeout=SECONDS)
        if left.done():
            return
        event = {"choices": [{"delta": {"content": f"{number} "}, "finish_reason": None}]}
        await send({"type": "http.response.body", "body": f"data: {json.dumps(event)}\n\n".encode(), "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _left(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    """A gateway with one place and one that waits, before a slow engine."""
    from tasks.serve.engines.client import EngineClient

    with listening(_slow_engine) as port:
        monkeypatch.setattr(
            "tests.gateway.EngineClient", lambda url, **given: EngineClient(f"http://127.0.0.1:{port}/v1", **given)
        )
        with running(
            tmp_path, lambda message, number: says("", "stop"), deadline_seconds=1.5, concurrency=1, queue=1
        ) as gateway:
            yield gateway


def _ask(gateway: Gateway, path: str, sent: object) -> socket.socket:
    body = json.dumps(sent).encode()
    client = socket.create_connection(("127.0.0.1", gateway.port), 20)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    client.sendall(f"{head}\r\n\r\n".encode() + body)
    return client


def _metric(gateway: Gateway, name: str) -> float:
    lines = gateway.http.get("/metrics").text.splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith(f"{name} "))


def test_a_deadline_within_a_stream_ends_it_with_a_sentence(slow: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    text = slow.http.post("/v1/chat/completions", json=SENT).text
    assert '"code": "deadline"' in text
    assert "Exception in ASGI application" not in caplog.text
    assert slow.answering.requests_inside == 0
    assert _metric(slow, "tucano_streams_cut_off_total") == 1
    (line,) = slow.logged()
    assert (line["completion"].split()[:2], line["valid"]) == (["0", "1"], False)


def test_a_stream_whose_client_hangs_up_is_counted_as_cut_off(slow: Gateway) -> None:
    with _ask(slow, "/v1/chat/completions", SENT) as client:
        assert b"200" in client.recv(100)
    wait_for(lambda: slow.answering.requests_inside == 0, 1)
    assert _metric(slow, "tucano_streams_cut_off_total") == 1


def test_clients_that_hang_up_while_they_wait_keep_no_place(slow: Gateway) -> None:
    clients = [_ask(slow, "/v1/tasks/sentiment", {"review": "Ruim"}) for _ in range(2)]
    wait_for(lambda: slow.answering.requests_inside == 2, 1)
    for client in clients:
        client.close()
    wait_for(lambda: slow.answering.requests_inside == 0, 1)
