"""The engine's HTTP interface, in this process: what a client that hangs up leaves behind, and what is too large."""

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI

from tasks.policy.continuous import DrawnRow
from tasks.serve.local_engine.app import MOST_BYTES, engine_app
from tasks.serve.local_engine.drawing import Drawing
from tasks.serve.local_engine.loaded import LoadedModels
from tests.tasks.serve.local_engine.conftest import MAX_TOKENS
from tests.tasks.serve.local_engine.running import ENDLESS, chat

PATIENCE = 60
LONG = chat([{"role": "user", "content": "oi"}], structured_outputs={"grammar": ENDLESS})
"""A request whose answer takes the longest."""


class Client:
    """A client of the application that may hang up."""

    def __init__(self, app: FastAPI, drawing: Drawing) -> None:
        self.app = app
        self.drawing = drawing

    def post(self, *bodies: bytes, hangs_up_at: int = 0) -> list[dict[str, Any]]:
        """Return what the application sent to a client that hangs up when so many rows are drawn."""
        return asyncio.run(self._post(bodies, hangs_up_at))

    async def _post(self, bodies: tuple[bytes, ...], hangs_up_at: int) -> list[dict[str, Any]]:
        parts = list(bodies)
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if parts:
                return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts) or not hangs_up_at}
            while len(_rows(self.app.state.loaded)) < hangs_up_at:
                await asyncio.sleep(0.001)
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "method": "POST",
            "path": "/v1/chat/completions",
            "headers": [],
            "query_string": b"",
            "http_version": "1.1",
        }
        await asyncio.wait_for(self.app(scope, receive, send), PATIENCE)
        return sent


@pytest.fixture
def client(loaded: LoadedModels) -> Iterator[Client]:
    drawing = Drawing(loaded, lambda: None)
    app = engine_app(loaded, drawing)
    app.state.loaded = loaded
    yield Client(app, drawing)
    drawing.close()


def _rows(loaded: LoadedModels) -> list[Any]:
    return [row for model in loaded.models if model.engine for row in model.engine.rows]


def test_a_client_that_hangs_up_frees_its_row(client: Client, loaded: LoadedModels) -> None:
    begun: list[DrawnRow] = []
    engine: Any = loaded.models[0].engine
    join = engine.join

    def recorded(row: DrawnRow) -> None:
        begun.append(row)
        join(row)

    engine.join = recorded
    client.post(json.dumps(LONG).encode(), hangs_up_at=1)
    deadline = time.monotonic() + PATIENCE
    while _rows(loaded) and client.drawing.error is None and time.monotonic() < deadline:
        time.sleep(0.001)
    assert _rows(loaded) == []
    assert client.drawing.error is None
    assert 0 < len(begun[0].drawn) < MAX_TOKENS
    assert not begun[0].ended


def test_a_client_that_hangs_up_within_its_request_leaves_nothing(client: Client, loaded: LoadedModels) -> None:
    sent = client.post(b'{"model":')
    assert _rows(loaded) == []
    assert sent[0]["status"] == 499


def test_a_request_without_end_is_cut_off(client: Client) -> None:
    sent = client.post(*[b" " * (1 << 20)] * (2 + (MOST_BYTES >> 20)))
    assert sent[0]["status"] == 413
    assert json.loads(sent[1]["body"])["error"]["message"].startswith("the request is larger than 4 MiB")
