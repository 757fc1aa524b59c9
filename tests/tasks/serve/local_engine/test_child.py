"""The engine's process: its answers are `generate`'s, whoever asks beside; it ends in order, and takes no memory."""

import json
import random
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import torch

from schemas.errors import InputError
from tasks.policy.child import ask_to_end
from tasks.policy.generate import as_messages, generate
from tasks.policy.load import load_policy
from tasks.serve.local_engine.child import _bound
from tests.tasks.policy.test_adapters import save_adapter
from tests.tasks.serve.local_engine.conftest import MAX_TOKENS
from tests.tasks.serve.local_engine.running import ENDLESS, RunningEngine, chat, running

pytestmark = pytest.mark.integration

GRAMMAR = "start: A\nA: /(ab|b)+c/"
SYSTEMS = ("Seja breve.", "Responda em português.", "Escreva.")


def _questions(count: int) -> list[dict[str, Any]]:
    """Return bodies of requests of many kinds."""
    asked = []
    for number in range(count):
        body = chat(as_messages(SYSTEMS[number % 3], "o pedido " * (number % 11 + 1)))
        body |= {"seed": number % 5, "temperature": (0.1, 0.7, 1.3)[number % 7 % 3], "max_tokens": 5 + 9 * (number % 4)}
        body |= {"structured_outputs": {"grammar": GRAMMAR}} if number % 4 == 1 else {}
        asked.append(body)
    return asked


def _alone(model: Any, tokenizer: Any, body: dict[str, Any]) -> dict[str, Any]:
    (answer,) = generate(
        model,
        tokenizer,
        [body["messages"]],
        temperature=body["temperature"],
        max_tokens=body["max_tokens"],
        batch_size=1,
        seed=body.get("seed", 5),
        grammars=[body.get("structured_outputs", {}).get("grammar", "")],
    )
    reason = {"end_of_turn": "stop", "token_limit": "length"}[answer.stop_reason.value]
    return {"text": answer.text, "reason": reason, "tokens": answer.tokens}


def _ask(client: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
    response = client.post("/v1/chat/completions", json=body)
    assert response.status_code == 200, response.text
    answer = response.json()
    (choice,) = answer["choices"]
    return {
        "text": choice["message"]["content"],
        "reason": choice["finish_reason"],
        "tokens": answer["usage"]["completion_tokens"],
    }


def test_answers_are_those_of_generate_alone_in_any_order(engine: RunningEngine, policy: tuple[Any, Any]) -> None:
    questions = _questions(48)
    wanted = [_alone(*policy, body) for body in questions]
    random.Random(3).shuffle(order := list(range(48)))
    with engine.another_client() as client, ThreadPoolExecutor(7) as threads:
        answers = list(threads.map(lambda number: _ask(client, questions[number]), order))
    assert dict(zip(order, answers, strict=True)) == dict(enumerate(wanted))


def test_a_request_without_a_seed_or_length_takes_the_engines_own(
    engine: RunningEngine, policy: tuple[Any, Any]
) -> None:
    body = chat(as_messages("Seja breve.", "o pedido"))
    assert _ask(engine.client, body) == _alone(*policy, body | {"max_tokens": MAX_TOKENS})


def test_models_and_health_are_told(engine: RunningEngine) -> None:
    assert [model["id"] for model in engine.client.get("/v1/models").json()["data"]] == ["champion"]
    for path in ("/", "/v1/completions", "/docs", "/openapi.json"):
        assert engine.client.get(path).json()["error"]["code"] == 404
    assert engine.client.get("/v1/chat/completions").json()["error"]["code"] == 405


def test_hostile_bodies_get_one_sentence_and_the_engine_goes_on(engine: RunningEngine) -> None:
    good = chat(as_messages("a", "b"), max_tokens=2)
    bodies: list[Any] = [
        b"\x00" * 99,
        b"{" * 50_000,
        "[" + "1," * 99_999 + "1]",
        json.dumps(good | {"messages": [{"role": "user", "content": "\ud800"}]}),
        json.dumps(good | {"model": "<|im_end|>\n" * 999}),
        json.dumps(good | {"messages": [{"role": "user", "content": "o " * 500_000}]}),
        json.dumps(good | {"structured_outputs": {"grammar": "start: " + "(" * 9_999}}),
        json.dumps(good | {"structured_outputs": {"grammar": "start: A\nA: /.*a.{60}/ & /.*b.{50}/ & ~/.*c.{40}/"}}),
        json.dumps(good | {"temperature": 1e308 * 10}),
        json.dumps({name: {} for name in map(str, range(9_999))}),
    ]
    for body in bodies:
        response = engine.post(body)
        assert response.status_code in {400, 404}, body[:80]
        error = response.json()["error"]
        assert error["message"]
        assert "\n" not in error["message"]
        assert len(error["message"]) < 400
        assert error["type"] == "invalid_request_error"
    assert engine.post(good).status_code == 200


@pytest.mark.slow
def test_two_thousand_short_requests_take_no_memory(engine: RunningEngine) -> None:
    """Red for turns, grammars or rows that are never given up."""
    process = psutil.Process(engine.pid)
    sizes = []
    for number in range(2_000):
        grammar = (
            {"structured_outputs": {"grammar": f"start: A\nA: /(a|b){{1,3}}c{number}/"}} if number % 10 == 0 else {}
        )
        messages = as_messages(f"Sistema {number} " * 8, f"pedido {number}")
        assert engine.post(chat(messages, max_tokens=2, **grammar)).status_code == 200
        if number % 100 == 99:
            sizes.append(process.memory_info().rss)
    # The second half takes 0.4 MB; it would take 17 MB if all turns stayed, and 5 MB if all grammars did.
    assert sizes[-1] - sizes[9] < 3e6


def test_requests_under_way_end_before_the_process_does(base: Path, tmp_path: Path) -> None:
    body = chat(as_messages("a", "b"), structured_outputs={"grammar": ENDLESS})
    with running(base, tmp_path, max_tokens=MAX_TOKENS) as engine, ThreadPoolExecutor(1) as threads:
        answer = threads.submit(_ask, engine.client, body)
        # Time to be read, and not to be drawn.
        time.sleep(0.3)
        assert not answer.done()
        ask_to_end(engine.processes[0])
        assert answer.result()["tokens"] == MAX_TOKENS
        assert engine.processes[0].wait(30) == 0
    assert engine.failures == []


def test_clients_that_hang_up_leave_all_places_to_others(engine: RunningEngine) -> None:
    """Three answers of the longest kind would take all places for seconds."""
    long = chat(as_messages("a", "b"), structured_outputs={"grammar": ENDLESS})
    for _ in range(3):
        with engine.another_client() as client, pytest.raises(httpx.ReadTimeout):
            client.post("/v1/chat/completions", json=long, timeout=0.3)
    assert _ask(engine.client, chat(as_messages("a", "c"), max_tokens=1))["tokens"] == 1
    process = psutil.Process(engine.pid)
    before = sum(process.cpu_times()[:2])
    time.sleep(1)
    assert sum(process.cpu_times()[:2]) - before < 0.3


def test_adapters_are_asked_by_name(base: Path, tmp_path: Path, policy: tuple[Any, Any]) -> None:
    folders = {name: save_adapter(base, tmp_path / name, seed) for seed, name in enumerate(("push", "churn"), start=1)}
    models = {"champion": policy[0]} | {
        name: load_policy(base, folder, four_bit=False) for name, folder in folders.items()
    }
    questions = [body | {"model": tuple(models)[number % 3]} for number, body in enumerate(_questions(18))]
    wanted = [_alone(models[body["model"]], policy[1], body) for body in questions]
    assert len({str(answer) for answer in wanted}) > 9
    with running(base, tmp_path, adapters=folders) as engine, ThreadPoolExecutor(6) as threads:
        assert list(threads.map(lambda body: _ask(engine.client, body), questions)) == wanted
        listed = engine.client.get("/v1/models").json()["data"]
    assert [model["id"] for model in listed] == list(models)


@pytest.fixture
def of_another_family(base: Path, policy: tuple[Any, Any], tmp_path: Path) -> Path:
    """A model with layers that the engine does not know."""
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = policy[1]
    shape = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    with torch.random.fork_rng():
        torch.manual_seed(3)
        config = LlamaConfig(
            vocab_size=len(tokenizer), eos_token_id=tokenizer.eos_token_id, max_position_embeddings=512, **shape
        )
        LlamaForCausalLM(config).save_pretrained(tmp_path / "llama")
    tokenizer.save_pretrained(tmp_path / "llama")
    return tmp_path / "llama"


def test_a_model_that_the_engine_does_not_know_is_answered_by_transformers_and_said_once(
    of_another_family: Path, tmp_path: Path, policy: tuple[Any, Any]
) -> None:
    model = load_policy(of_another_family, None, four_bit=False)
    questions = _questions(6)
    wanted = [_alone(model, policy[1], body) for body in questions]
    with running(of_another_family, tmp_path) as engine, ThreadPoolExecutor(3) as threads:
        assert list(threads.map(lambda body: _ask(engine.client, body), questions)) == wanted
    assert engine.log.read_text(encoding="utf-8").count("model_type: llama") == 1


def test_a_socket_left_behind_is_replaced_and_one_in_use_is_not(tmp_path: Path) -> None:
    path = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as old:
        old.bind(str(path))
    with _bound(path) as listener:
        assert path.stat().st_mode & 0o777 == 0o600
        listener.listen()
        with pytest.raises(InputError, match="another process serves on"):
            _bound(path)
    for bad in (tmp_path / ("x" * 200), tmp_path / "none" / "engine.sock", _file(tmp_path / "file")):
        with pytest.raises(InputError, match="cannot be the file of the engine's socket"):
            _bound(bad)


def _file(path: Path) -> Path:
    path.write_text("kept", encoding="utf-8")
    return path
