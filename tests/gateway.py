"""A gateway on loopback before an engine that plays what a test sets."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import orjson
import uvicorn

from schemas.config.serve import ServeConfig
from tasks.personal_data.scrub import scrub
from tasks.serve.deployment import DeployedVersion
from tasks.serve.engine_client import EngineClient
from tasks.serve.gateway.answer_log import DailyFile
from tasks.serve.gateway.answering import AnswerService, Metrics
from tasks.serve.gateway.app import build_app
from tasks.serve.served_model import Decoding, ServedModel
from tests.chat_server import ChatServer, Reply, says
from tests.chat_server import serve as serve_chat

RIGHT = '{"polarity":"negative","score":1}'


def says_right(message: str, number: int) -> Reply:
    """Answer every question of sentiment alike."""
    return says(RIGHT, "stop", (30, 9))


def served_model(number: str = "1", **changes: Any) -> ServedModel:
    """Return a version without weights."""
    model = ServedModel(
        name=f"version {number}",
        number=number,
        version_name=f"shop/{number}",
        weights=Path("nowhere"),
        policy=None,
        decoding=Decoding(temperature=0.1, max_tokens=64),
        batch_size=2,
        seed=7,
        store=None,
        spec="grounded",
        unlearned={},
    )
    return replace(model, **changes)


@dataclass
class Gateway:
    """A running gateway, its engine, and its folder of logs."""

    http: httpx.Client
    port: int
    engine: ChatServer
    answering: AnswerService
    logs: Path

    def logged(self) -> list[dict[str, Any]]:
        """Return the lines of the log."""
        files = (file.read_text() for file in sorted(self.logs.glob("*.jsonl")))
        return [json.loads(line) for text in files for line in text.split("\n")[:-1]]

    def ask(
        self, review: str = "Chegou quebrado.", headers: dict[str, str] | None = None, **query: Any
    ) -> httpx.Response:
        """Ask for a sentiment."""
        return self.http.post("/v1/tasks/sentiment", json={"review": review}, params=query, headers=headers)

    def chat(self, text: str = "Avaliação: Chegou quebrado", **fields: Any) -> httpx.Response:
        """Ask for a sentiment by OpenAI's API, with other fields of the request."""
        asked = {"model": "champion/sentiment", "messages": [{"role": "user", "content": text}]}
        return self.http.post("/v1/chat/completions", json=asked | fields)


@contextmanager
def running(
    folder: Path,
    play: Callable[[str, int], Reply],
    *,
    tokens: tuple[bytes, ...] = (),
    takes_seed: bool = True,
    model: ServedModel | None = None,
    **settings: Any,
) -> Iterator[Gateway]:
    """Serve until the block ends, with logs in a folder and settings of the section `serve`.

    `play` is the engine of `tests.chat_server.serve`; without a model, one that has learned all tasks answers.
    """
    config = ServeConfig(**settings)
    log = DailyFile(folder, days=config.log_days)
    feedback = DailyFile(folder / "feedback", days=config.log_days)
    with serve_chat(play) as engine:
        metrics = Metrics()
        client = EngineClient(f"{engine.url}/v1", connections=config.concurrency)
        client.takes_seed = takes_seed
        deployment = DeployedVersion(model or served_model(), client)
        answering = AnswerService(deployment, config, log=log, scrub=lambda text: scrub(text)[0], metrics=metrics)
        app = build_app(
            answering,
            config,
            "shop",
            tokens=tokens,
            metrics=metrics,
            feedback=feedback,
            scrub_reference=lambda reference: orjson.loads(scrub(orjson.dumps(reference).decode())[0]),
        )
        with listening(app) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as http:
            yield Gateway(http, port, engine, answering, folder)
    log.close()
    feedback.close()


def wait_for(holds: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until something holds, and fail where it does not in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def listening(app: Any, **settings: Any) -> Iterator[int]:
    """Run an application in a thread, with uvicorn's settings, and yield its port."""
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=2, **settings)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield int(bound.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
        bound.close()
