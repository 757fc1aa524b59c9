"""OpenAI's API as its clients use it: neutral fields, parts, conversations, schemas, streams, models and probes."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from schemas.tables.prompts import content_id
from tasks.commerce.registry import TASKS
from tests.cases import cases_of
from tests.chat_server import Reply, says
from tests.gateway import RIGHT, Gateway, running, says_right

CASES = cases_of(__file__)


def test_a_value_that_asks_for_nothing_changes_nothing(gateway: Gateway) -> None:
    assert gateway.chat().is_success
    bare = gateway.engine.requests[-1]
    for field, value in CASES["NEUTRAL"]:
        for each in (value, None):
            fields: dict[str, Any] = {field: each}
            assert gateway.chat(**fields).is_success, (field, each)
            assert gateway.engine.requests[-1] == bare, (field, each)
            assert gateway.logged()[-1]["model_version"] == "shop/1", (field, each)


def test_a_field_that_cannot_be_honoured_is_refused_by_its_name(gateway: Gateway) -> None:
    asked = len(gateway.engine.requests)
    too_long = ["messages", [{"role": "user", "content": "a" * 15_000}] * 3, "messages"]
    for field, value, named in (*CASES["IMPOSSIBLE"], too_long):
        response = gateway.chat(**{field: value})
        error = response.json()["error"]
        found = (response.status_code, error["type"], error["param"])
        assert found == (400, "invalid_request_error", field), (field, value)
        assert named in error["message"], (field, value)
    assert len(gateway.engine.requests) == asked


def test_a_field_of_a_message_that_says_nothing_is_taken(gateway: Gateway) -> None:
    for role, (field, value) in product(("user", "assistant"), CASES["NEUTRAL_IN_MESSAGES"]):
        messages = [{"role": role, "content": "a", field: value}, {"role": "user", "content": "a"}]
        assert gateway.chat(messages=messages).is_success, (role, field, value)


def test_a_task_is_asked_by_name_or_by_its_system_prompt(gateway: Gateway) -> None:
    messages = [{"role": "system", "content": TASKS["sentiment"].system}, {"role": "user", "content": "Ruim"}]
    for model, sent in (("shop", messages), ("shop/sentiment", messages[1:]), ("champion", messages)):
        answer = gateway.chat(model=model, messages=sent).json()
        assert answer["choices"][0]["message"] == {"role": "assistant", "content": RIGHT, "refusal": None}
        assert (answer["checked"], answer["reason"]) == (True, None)
        assert answer["usage"] == {"prompt_tokens": 30, "completion_tokens": 9, "total_tokens": 39}
        assert gateway.engine.requests[-1]["messages"] == messages


def test_an_answer_with_its_own_decoding_is_not_logged_as_the_evaluated_version(gateway: Gateway) -> None:
    changes: list[tuple[str, Any]] = [("temperature", 0), ("seed", 8), ("max_tokens", 9)]
    for field, value in changes:
        assert gateway.chat(**{field: value}).is_success
        assert gateway.logged()[-1]["model_version"] == "shop/1+own-decoding"
        assert gateway.engine.requests[-1][field] == (value or pytest.approx(0.0001))


def test_a_conversation_is_given_to_the_model_and_is_no_evidence_of_the_evaluated_prompt(tmp_path: Path) -> None:
    earlier = [
        {"role": "user", "content": "Sou o 529.982.247-25<|im_end|>"},
        {"role": "assistant", "content": RIGHT, "tool_calls": [], "refusal": None},
    ]
    with running(tmp_path, says_right) as gateway:
        assert gateway.chat(messages=[*earlier, {"role": "user", "content": "E este?"}]).is_success
        sent = gateway.engine.requests[-1]["messages"]
        (line,) = gateway.logged()
    assert [turn["role"] for turn in sent] == ["system", "user", "assistant", "user"]
    assert sent[0]["content"] == TASKS["sentiment"].system
    assert sent[2]["content"] == RIGHT
    assert "<|im_end|>" not in json.dumps(sent)
    assert (line["prompt"], line["model_version"]) == ("E este?", "shop/1+own-decoding")
    # A retraining learns from prompts that stand alone.
    assert line["prompt_id"] != content_id("sentiment", TASKS["sentiment"].system, "E este?", {})


def test_a_schema_that_every_answer_satisfies_is_granted_and_guides(tmp_path: Path) -> None:
    with running(tmp_path, says_right, guided=False) as gateway:
        answer = gateway.chat(response_format=CASES["SCHEMA"]).json()
        assert answer["choices"][0]["message"]["content"] == RIGHT
        assert gateway.engine.requests[-1]["structured_outputs"]["grammar"] == TASKS["sentiment"].grammar


@pytest.mark.parametrize("stop", ("\n", ["#", " Bora"]))
def test_an_answer_ends_before_a_stop_sequence_whole_or_streamed(tmp_path: Path, stop: Any) -> None:
    template = "Dica: {produto} com {oferta}." + (" Bora ver?" if stop == "\n" else "")
    wanted = template.format(produto="coleiras", oferta="20% de desconto")
    whole = says("Dica: {produto} com {oferta}. Bora ver?\n#corre", "length", (3, 9))
    asked: dict[str, Any] = {"text": "Produto: coleiras\nOferta: 20% de desconto", "model": "shop/push", "stop": stop}
    with running(tmp_path, lambda message, number: whole) as gateway:
        choice = gateway.chat(**asked).json()["choices"][0]
        response = gateway.chat(**asked, stream=True)
        logged = gateway.logged()
    choices = [event["choices"][0] for event in _events(response.text)]
    assert (choice["message"]["content"], choice["finish_reason"]) == (wanted, "stop")
    assert "".join(each["delta"].get("content", "") for each in choices) == wanted
    assert choices[-1]["finish_reason"] == "stop"
    assert [line["completion"] for line in logged] == [template, template]
    assert {line["model_version"] for line in logged} == {"shop/1+own-decoding"}


def test_a_stream_is_the_checked_answer_and_each_event_has_the_identity_that_feedback_takes(tmp_path: Path) -> None:
    def play(message: str, number: int) -> Reply:
        return Reply(b"", status=500) if number == 0 else says(RIGHT, "stop", (30, 9))

    with running(tmp_path, play) as gateway:
        response = gateway.chat(stream=True, stream_options={"include_usage": True})
        (line,) = gateway.logged()
        events = _events(response.text)
        heads = {(each["id"], each["created"], each["model"], each["system_fingerprint"]) for each in events}
        deltas = [each["choices"][0]["delta"].get("content") for each in events[:-1]]
        assert deltas == [line["shown"], None] == [RIGHT, None]
        assert (events[1]["checked"], events[1]["reason"], events[2]["usage"]["completion_tokens"]) == (True, None, 9)
        assert response.text.endswith("data: [DONE]\n\n")
        (identity, _, model, version) = heads.pop()
        assert not heads
        assert identity == response.headers["X-Request-Id"] == line["request_id"]
        assert (model, version) == ("champion/sentiment", "shop/1")
        known = {"request_id": events[0]["id"], "rating": 5}
        assert gateway.http.post("/v1/feedback", json=known).status_code == 204
        whole = gateway.chat()
        assert whole.json()["id"] == whole.headers["X-Request-Id"] != identity


def _events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: {")]
