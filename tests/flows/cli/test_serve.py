"""`tucano serve` as people run it: it is killed and its versions switch under requests, and no answer is lost."""

import asyncio
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

import httpx
import psutil
import pytest

from flows.stages.gateway import _deploy
from schemas.config.config import Config
from tasks.serve.questions import question_of
from tests import chat_server
from tests.chat_server import Reply, says
from tests.flows.command import in_a_process, in_this_process
from tests.flows.promotable import Promotable
from tests.gateway import wait_for
from tests.house import free_port
from tests.serving import SECONDS, Served, serving
from tests.tasks.lineage.small_world import MODEL

pytestmark = pytest.mark.integration


def _promote(shop: Promotable, version: str) -> None:
    shop.registry.promote(MODEL, "champion", "previous", version, promotion="0" * 64)


def _arguments(shop: Promotable, port: int) -> list[str]:
    settings = (
        f"state.root={shop.root}",
        "serve.golden_prompts=0",
        "serve.follow_seconds=0.2",
        "serve.answer_all=true",
    )
    return ["serve", "--port", str(port), *(part for setting in settings for part in ("--set", setting))]


@pytest.fixture(scope="module")
def served(versions: Promotable) -> Iterator[Served]:
    """A gateway of the first version, until the last test ends it."""
    _promote(versions, "1")
    port = free_port()
    with serving(versions.root, port, _arguments(versions, port)) as served:
        yield served


def test_without_a_champion_or_a_free_port_it_does_not_start(shop: Promotable) -> None:
    refused = in_a_process(*_arguments(shop, free_port())).refusal()
    assert f"no version of {MODEL} is `champion` yet" in refused
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        refused = in_this_process(*_arguments(shop, taken.getsockname()[1])).refusal()
    assert "choose another with --port PORT" in refused


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (says("sim", "stop"), ""),
        (says("Sim, claro", "stop"), "for its engine cannot guide: it does not heed a grammar"),
        (Reply(b'{"error": {"message": "none here"}}', status=400), "for its engine cannot guide: none here"),
    ],
)
def test_an_engine_that_cannot_guide_is_named_at_the_start_and_asked_without_grammars(
    shop: Promotable, reply: Reply, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _promote(shop, "1")

    async def is_guided(config: Config) -> bool:
        deployment = await _deploy(config, None)
        await deployment.retire()
        return bool(deployment.question(question_of("sentiment", {"review": "Chegou"})).grammar)

    with chat_server.serve(lambda *_: reply) as engine:
        config = shop.config("serve.golden_prompts=0", "serve.answer_all=true", f"serve.engine_url={engine.url}")
        assert asyncio.run(is_guided(config)) == (not why)
    assert why in " ".join(capsys.readouterr().err.split())


def test_a_signal_ends_it_also_while_the_engine_loads(shop: Promotable) -> None:
    _promote(shop, "1")
    command = [sys.executable, "-m", "flows", *_arguments(shop, free_port())]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as begun:
        wait_for(lambda: len(psutil.Process(begun.pid).children()) > 0, SECONDS)
        # Time to begin to load the version, not to end it: the imports of the engine alone take longer.
        time.sleep(1)
        processes = psutil.Process(begun.pid).children(recursive=True)
        begun.send_signal(signal.SIGTERM)
        try:
            _, said = begun.communicate(timeout=20)
        finally:
            begun.kill()
    _, alive = psutil.wait_procs(processes, SECONDS)
    assert (begun.returncode, alive) == (0, [])
    assert "answers at" not in said
    assert "Traceback" not in said


def test_versions_switch_under_requests_and_each_is_answered_by_one(versions: Promotable, served: Served) -> None:
    reviews = ("Chegou quebrado", "Amei, recomendo", "Nada a dizer")
    received: list[httpx.Response] = []
    stop = threading.Event()

    def ask() -> None:
        for review in cycle(reviews):
            if stop.is_set():
                return
            received.append(served.ask(review))

    with ThreadPoolExecutor(4) as clients:
        asking = [clients.submit(ask) for _ in range(4)]
        for version in ("2", "1", "2"):
            _promote(versions, version)
            serves = f"{MODEL}/{version}"
            wait_for(lambda: httpx.get(f"{served.url}/readyz").json()["version"] == serves, SECONDS)  # noqa: B023
            before = len(received)
            wait_for(lambda: len(received) > before + 8, SECONDS)  # noqa: B023
        stop.set()
    assert [each.exception() for each in asking] == [None] * 4
    logged = served.logged()
    assert {response.status_code for response in received} == {200}
    answers = [response.json() for response in received]
    assert {answer["version"] for answer in answers} == {f"{MODEL}/1", f"{MODEL}/2"}
    assert all(logged[answer["request_id"]]["model_version"] == answer["version"] for answer in answers)
    # A mixture would be neither version's answer.
    texts: dict[tuple[str, str], set[str]] = {}
    for answer in answers:
        line = logged[answer["request_id"]]
        texts.setdefault((answer["version"], line["prompt"]), set()).add(line["completion"])
    assert len(texts) == 2 * len(reviews)
    assert all(len(of_one) == 1 for of_one in texts.values())


def test_a_gateway_that_is_killed_or_stopped_comes_back_and_no_answer_is_lost(served: Served) -> None:
    received = [served.ask().json()]
    gateway = served.gateway
    gateway.suspend()
    received.append(served.ask().json())
    gateway.kill()
    gateway.wait(SECONDS)
    received.append(served.ask().json())
    logged = served.logged()
    assert len({logged[answer["request_id"]]["completion"] for answer in received}) == 1
    assert all(logged[answer["request_id"]]["model_version"] == answer["version"] for answer in received)
    processes = [served.gateway, *served.gateway.children(recursive=True)]
    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(SECONDS) == 0
    _, alive = psutil.wait_procs(processes, SECONDS)
    assert not alive
