"""Engine in a process of its own, as the gateway starts it."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from schemas.progress import silent
from tasks.policy.child import ChildProcess, ask_to_end, run_child
from tasks.policy.generate import Message
from tasks.serve.local_engine.request import LocalEngineRequest

MODULE = "tasks.serve.local_engine.child"
PATIENCE = 240
ENDLESS = "start: A\nA: /[a-z]{9000}/"
"""Grammar of an answer that reaches any limit of tokens: an untrained model may end its turn anywhere."""


@dataclass
class RunningEngine:
    """The process and a client of it."""

    request: LocalEngineRequest
    client: httpx.Client
    processes: list[ChildProcess] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)
    log: Path = Path()

    @property
    def pid(self) -> int:
        return self.processes[0].pid

    def post(self, body: Any) -> httpx.Response:
        if isinstance(body, (bytes, str)):
            return self.client.post("/v1/chat/completions", content=body)
        return self.client.post("/v1/chat/completions", json=body)

    def another_client(self) -> httpx.Client:
        return client_of(self.request.socket)


def client_of(socket: Path) -> httpx.Client:
    return httpx.Client(transport=httpx.HTTPTransport(uds=str(socket)), base_url="http://engine", timeout=PATIENCE)


def chat(messages: Sequence[Message], **named: Any) -> dict[str, Any]:
    """Return the body of a request."""
    return {"model": "champion", "messages": list(messages), "temperature": 0.7, **named}


@contextmanager
def running(
    weights: Path, folder: Path, *, adapters: Mapping[str, Path] | None = None, rows: int = 8, max_tokens: int = 200
) -> Iterator[RunningEngine]:
    """Run the engine until the block ends, and see it end in order."""
    request = LocalEngineRequest(
        weights=weights,
        adapters=adapters or {},
        socket=folder / "engine.sock",
        rows=rows,
        max_tokens=max_tokens,
        seed=5,
    )
    with client_of(request.socket) as client:
        engine = RunningEngine(request, client, log=folder / "child.log")
        thread = threading.Thread(target=_run, args=[engine, folder])
        thread.start()
        try:
            _await_health(engine, thread)
            yield engine
        finally:
            for process in engine.processes:
                ask_to_end(process)
            thread.join()


def _run(engine: RunningEngine, folder: Path) -> None:
    try:
        run_child(MODULE, engine.request, folder, interpreter=None, progress=silent, started=engine.processes.append)
    except BaseException as error:  # noqa: BLE001 - the test reads it
        engine.failures.append(error)


def _await_health(engine: RunningEngine, thread: threading.Thread) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and thread.is_alive():
        try:
            if engine.client.get("/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError(f"the engine does not start: {engine.failures}")
