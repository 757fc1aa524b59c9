"""What each backend is given, and what it is refused. No GPU and no Unsloth is needed to know that."""

import ast
import importlib
import os
import re
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.config.train import TrainConfig
from schemas.errors import InputError
from schemas.source import REPOSITORY
from tasks.train.backend import requirements, trainable
from tasks.train.backend.trainable import (
    load_trainable,
    lora_config,
    refuse_shared_padding,
    unsloth_adapter_arguments,
    without_drift,
)
from tests.small_base import save_base
from tests.tasks.train.installed import install


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_base(tmp_path_factory.mktemp("base"))


def _recipe(**settings: Any) -> TrainConfig:
    return TrainConfig.model_validate({"load_in_4bit": False, "lora": {"rank": 4, "alpha": 8}, **settings})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"entropy": {"adaptive": True}}, r"entropy\.adaptive"),
        ({"entropy_advantages": True}, "entropy_advantages"),
        ({"scale_rewards": "group"}, r"scale_rewards 'group' with loss 'dr_grpo'"),
        ({"algorithm": "dpo"}, "algorithm 'dpo'"),
    ],
)
def test_settings_that_unsloth_would_leave_out_are_refused(settings: dict[str, Any], said: str) -> None:
    _recipe(**settings)
    with pytest.raises(ValidationError, match=rf"{said} is not possible .*set backend='transformers'"):
        _recipe(backend="unsloth", **settings)


def test_unsloth_without_a_gpu_is_one_sentence(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=r"needs a GPU, and there is none; .* train\.backend='transformers'"):
        load_trainable(base, _recipe(backend="unsloth"), seed=1, max_prompt_tokens=64, work=base)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.delitem(sys.modules, "tasks.train.grpo.trainer", raising=False)
    monkeypatch.setattr(requirements, "version", lambda _: "2026.10.7")
    for name in (*trainable.UNSLOTH_SETTINGS, "UNSLOTH_COMPILE_LOCATION"):
        # Set and unset, so that what the backend sets is taken back.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(
    ("installed", "said"),
    [
        ({"unsloth": "2026.11.1", "unsloth-zoo": "2026.10.7"}, "unsloth==2026.10.7 (installed: 2026.11.1) in "),
        ({"unsloth": "2026.10.7", "unsloth-zoo": "2026.11.2"}, "unsloth-zoo==2026.10.7 (installed: 2026.11.2) in "),
        ({}, "unsloth==2026.10.7 (installed: none) and unsloth-zoo==2026.10.7 (installed: none) in "),
    ],
)
def test_another_unsloth_than_the_pinned_is_one_sentence_before_it_is_imported(
    base: Path, monkeypatch: pytest.MonkeyPatch, installed: dict[str, str], said: str
) -> None:
    install(monkeypatch, installed)
    monkeypatch.setattr(importlib, "import_module", lambda name: pytest.fail(f"{name} was imported"))
    with pytest.raises(
        InputError, match=rf"needs {re.escape(said)}.*; set train\.interpreter .*backend='transformers'"
    ):
        load_trainable(base, _recipe(backend="unsloth"), seed=1, max_prompt_tokens=64, work=base)


@pytest.mark.usefixtures("gpu")
def test_unsloths_model_keeps_no_temperature_and_has_its_adapter_on(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_turns_end_that_is_also_padding_is_refused(base: Path) -> None:
    tokenizer: Any = SimpleNamespace(pad_token_id=2, eos_token_id=2, eos_token="<|im_end|>")
    with pytest.raises(InputError, match=r"pads with '<\|im_end\|>', which also ends its turns"):
        refuse_shared_padding(tokenizer, base)
    tokenizer.pad_token_id = 0
    refuse_shared_padding(tokenizer, base)


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


def _modules() -> Iterator[str]:
    """Yield all modules of the house that a child in the trainer's environment can come to import."""
    files = [file for folder in ("tasks/train", "tasks/policy") for file in (REPOSITORY / folder).rglob("*.py")]
    # Endpoints are asked by whoever starts a child, never by the child.
    files.remove(REPOSITORY / "tasks" / "policy" / "endpoint.py")
    files.append(REPOSITORY / "tasks" / "evaluate" / "answers" / "answer.py")
    # The registry finds them by name.
    files += (REPOSITORY / "tasks" / "commerce").glob("*/task.py")
    todo = [".".join(file.relative_to(REPOSITORY).with_suffix("").parts) for file in files]
    seen: set[str] = set()
    while todo:
        module = todo.pop()
        if module in seen or not _file(module).exists():
            continue
        seen.add(module)
        yield module
        todo += [name for name in _imports(module) if name.startswith(("tasks.", "schemas."))]


def _file(module: str) -> Path:
    return REPOSITORY.joinpath(*module.split(".")).with_suffix(".py")


def _imports(module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(_file(module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_the_trainers_environment_has_all_that_its_child_imports() -> None:
    pins = (REPOSITORY / "constraints" / "trainer-linux-cuda.txt").read_text(encoding="utf-8").splitlines()
    pinned = {line.partition("==")[0] for line in pins}
    distributions = packages_distributions()
    modules = list(_modules())
    imported = {name.partition(".")[0] for module in modules for name in _imports(module)}
    outside = imported - set(sys.stdlib_module_names) - {"tasks", "schemas", "flows"}
    assert {"tasks.commerce.push.scorer", "tasks.checkpoints.gcs_store"} <= set(modules)
    assert {"torch", "trl", "polars"} <= outside
    missing = {
        name
        for name in outside
        if not pinned & {distribution.lower().replace("_", "-") for distribution in distributions[name]}
    }
    assert not missing
    assert "prefect" not in outside
