"""Real HTTP to the gateway: each request is answered, checked and logged without personal data, or refused."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from schemas.config.serve import MonitorConfig
from schemas.tables.production_logs import log_files
from tasks.commerce.registry import TASKS
from tasks.monitor.logs import read_logs
from tests.chat_server import Reply, says
from tests.gateway import RIGHT, Gateway, running, says_right

CPF = "529.982.247-25"
TEXT = f"Sou o {CPF}, chegou quebrado"


def test_a_task_is_asked_as_training_wrote_it_and_answered_parsed_and_checked(gateway: Gateway) -> None:
    answer = gateway.ask("Chegou  quebrado\ne sem nota.").json()
    assert (answer["parsed"], answer["text"]) == ({"polarity": "negative", "score": 1}, RIGHT)
    assert (answer["checked"], answer["reason"], answer["version"], answer["tokens"]) == (True, None, "shop/1", 9)
    asked = gateway.engine.requests[-1]
    assert asked["messages"][0]["content"] == TASKS["sentiment"].system
    assert asked["messages"][1]["content"].endswith("Avaliação: Chegou quebrado e sem nota.")
    assert (asked["model"], asked["temperature"], asked["max_tokens"], asked["seed"]) == ("champion", 0.1, 64, 7)
    assert asked["structured_outputs"]["grammar"] == TASKS["sentiment"].grammar
    assert not gateway.ask(guided=False).json()["guided"]
    assert "structured_outputs" not in gateway.engine.requests[-1]


Way = Callable[[Gateway], httpx.Response]
TURNS = [{"role": "user", "content": TEXT}, {"role": "assistant", "content": TEXT}, {"role": "user", "content": TEXT}]
WAYS: dict[str, Way] = {
    "task": lambda gateway: gateway.ask(TEXT),
    "chat": lambda gateway: gateway.chat(TEXT),
    "stream": lambda gateway: gateway.chat(TEXT, stream=True),
    "conversation": lambda gateway: gateway.chat(messages=TURNS, stream=True),
}


def _written(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("way", WAYS)
def test_personal_data_of_prompt_and_answer_is_in_no_file_and_no_message(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    def play(message: str, number: int) -> Reply:
        return Reply(b"", status=500) if number == 0 else says(f"meu CPF é {CPF}", "stop", (5, 9))

    with running(tmp_path, play) as gateway:
        assert WAYS[way](gateway).is_success
        (line,) = gateway.logged()
        files = log_files(tmp_path)
        logs = read_logs(files, files.digests(), MonitorConfig(), ("shop/1",), None, datetime.now(UTC))
    assert (line["prompt"].count("[CPF]"), line["completion"]) == (1, "meu CPF é [CPF]")
    assert (line["valid"], line["shown"], line["tokens"]) == (False, None, 9)
    if way != "conversation":
        assert logs.table["completion"].to_list() == ["meu CPF é [CPF]"]
    assert CPF not in _written(tmp_path)
    assert CPF not in caplog.text


@pytest.mark.parametrize("way", WAYS)
def test_nobody_has_a_whole_answer_while_the_log_is_full_unless_the_shop_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    for require in (True, False):
        with running(tmp_path / str(require), says_right, require_log=require) as gateway:
            with monkeypatch.context() as patched:
                patched.setattr("tasks.serve.gateway.answer_log.os.write", full)
                response = WAYS[way](gateway)
            assert "tucano_unlogged_answers_total 1.0" in gateway.http.get("/metrics").text
            assert WAYS[way](gateway).is_success
            assert len(gateway.logged()) == 1
        assert (response.status_code == 503, RIGHT in response.text.replace("\\", "")) == (require, not require)


def test_an_identity_of_a_prompt_cannot_be_searched_for_personal_data(tmp_path: Path) -> None:
    with running(tmp_path, says_right) as gateway:
        for number in (CPF, "111.444.777-35"):
            gateway.chat(f"Sou o {number}")
            gateway.chat(messages=[{"role": "user", "content": f"Sou o {number}"}, {"role": "user", "content": "Ruim"}])
        identities = [line["prompt_id"] for line in gateway.logged()]
    assert identities[:2] == identities[2:]
    assert identities[0] != identities[1]


def test_a_refused_task_is_answered_422_and_its_models_are_not_listed(tmp_path: Path) -> None:
    def listed(gateway: Gateway) -> list[str]:
        return [model["id"] for model in gateway.http.get("/v1/models").json()["data"]]

    with running(tmp_path / "logs", says_right, refuse=["sql_qa", "push"]) as gateway:
        response = gateway.http.post("/v1/tasks/sql_qa", json={"question": "Quantos pedidos?"})
        assert (response.status_code, response.json()["error"]["code"]) == (422, "task_refused")
        assert gateway.ask().is_success
        assert {"shop/sentiment", "champion/churn"} <= set(listed(gateway))
        assert not [name for name in listed(gateway) if name.endswith(("/sql_qa", "/push"))]
        # An adapter for each task, of a training of two tasks.
        for task in ("push", "sentiment"):
            (tmp_path / "policy" / "adapters" / task).mkdir(parents=True)
        deployed = gateway.answering.deployment
        deployed.model = replace(deployed.model, policy=tmp_path / "policy")
        assert listed(gateway) == ["shop/sentiment", "champion/sentiment"]


def test_a_full_queue_is_answered_429_and_the_others_wait(tmp_path: Path) -> None:
    slow = says(RIGHT, "stop", (5, 9))
    slow.seconds = 0.5
    with running(tmp_path, lambda message, number: slow, concurrency=1, queue=2) as gateway:
        with ThreadPoolExecutor(6) as threads:
            responses = list(threads.map(lambda _: gateway.ask(), range(6)))
        assert sorted(response.status_code for response in responses) == [200] * 3 + [429] * 3
        assert gateway.engine.most_at_once == 1
        refused = next(response for response in responses if response.status_code == 429)
        assert int(refused.headers["Retry-After"]) >= 1
        assert len(gateway.logged()) == 3


def test_a_request_whose_engine_failed_is_asked_again_and_its_refusal_is_the_clients(tmp_path: Path) -> None:
    sentence = "the prompt has 900 tokens, and the model reads 512"
    refusal = Reply(json.dumps({"error": {"message": sentence}}).encode(), status=400)

    def play(message: str, number: int) -> Reply:
        return Reply(b"", status=500) if number < 2 else says(RIGHT, "stop", (5, 9)) if number == 2 else refusal

    with running(tmp_path, play) as gateway:
        assert gateway.ask().is_success
        assert len(gateway.logged()) == 1
        response = gateway.ask()
    assert (response.status_code, response.json()["error"]["message"]) == (422, sentence)


def test_feedback_is_kept_by_the_request_that_it_is_about_without_personal_data(gateway: Gateway) -> None:
    request_id = gateway.ask().json()["request_id"]
    known = {"request_id": request_id, "reference": {"polarity": "negative", "score": 1}, "rating": 4}
    private = {"request_id": f"push-{'0' * 32}", "reference": {"product": f"fone de {CPF}", "offer": None}}
    for each in (private, known):
        assert gateway.http.post("/v1/feedback", json=each).status_code == 204
    (file,) = (gateway.logs / "feedback").glob("*.jsonl")
    lines = file.read_text().splitlines()
    assert (json.loads(lines[-1])["request_id"], json.loads(lines[-1])["rating"]) == (request_id, 4)
    assert "fone de [CPF]" in lines[-2]
    for wrong in (
        known | {"rating": 6},
        known | {"rating": True},
        known | {"reference": {"polarity": 3}},
        {"request_id": request_id},
        known | {"request_id": "sentiment-1"},
    ):
        assert gateway.http.post("/v1/feedback", json=wrong).status_code == 422
