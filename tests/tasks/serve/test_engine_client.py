"""An engine's reply is hostile: whatever it sends in the place of an answer, the request can be sent again."""

import asyncio
import gzip
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tasks.serve.engine_client import (
    LONGEST_REPLY,
    EngineClient,
    EngineQuestion,
    EngineRefused,
    EngineUnavailable,
)

QUESTION = EngineQuestion("champion", [{"role": "user", "content": "Oi"}], 0.1, 8, None, "")
ANSWER = json.dumps(
    {"choices": [{"message": {"content": "olá"}, "finish_reason": "stop"}], "usage": {"completion_tokens": 2}}
).encode()


def reply(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


@contextmanager
def replying(*replies: bytes) -> Iterator[str]:
    """Serve one reply to each request, and close the connection after each; yield the base URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for each in replies:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65_536)
                    connection.sendall(each)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        thread.join()


def using(url: str, ask: Callable[[EngineClient], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        client = EngineClient(url, connections=2)
        try:
            async with asyncio.timeout(20):
                return await ask(client)
        finally:
            await client.close()

    return asyncio.run(run())


def asked(url: str) -> Any:
    return using(url, lambda client: client.complete(QUESTION))


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\ndata: {",
        reply(b"[" * 9_000),
        reply(ANSWER + b" " * LONGEST_REPLY),
        reply(gzip.compress(ANSWER), "200 OK", "Content-Encoding: gzip"),
        reply(b"", "302 Found", "Location: http://127.0.0.1:9/v1"),
        reply(b"", "429 Too Many Requests"),
    ],
    ids=["nothing", "no second chunk", "cut", "deep", "long", "compressed", "moved", "busy"],
)  # fmt: skip
def test_a_question_without_an_answer_can_be_asked_again(sent: bytes) -> None:
    with replying(sent) as url, pytest.raises(EngineUnavailable):
        asked(url)


def test_a_refusal_is_in_the_engines_own_sentence() -> None:
    refusal = json.dumps({"error": {"message": "the prompt is too long"}}).encode()
    with (
        replying(reply(refusal, "400 Bad Request")) as url,
        pytest.raises(EngineRefused, match="the prompt is too long"),
    ):
        asked(url)


def test_nobody_there_is_unavailable_and_not_healthy() -> None:
    url = "http://127.0.0.1:9/v1"
    with pytest.raises(EngineUnavailable):
        asked(url)
    assert not using(url, lambda client: client.is_healthy())
