"""A policy whose base is in NF4: its weights stay beside their scales, and its adapter learns in float32."""

from pathlib import Path
from typing import Any

import pytest
import torch
from bitsandbytes.functional import QuantState

from schemas.config.train import TrainConfig
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.load import load_tokenizer
from tasks.train.backend.cpu import keep_adapter_in_float32
from tasks.train.grpo.rewards import ComponentRewards
from tasks.train.preflight import model as preflight_model
from tasks.train.preflight.run import preflight
from tasks.train.watch.validation import validate
from tests.tasks.train.kept_training import Collecting, KeptTraining
from tests.tasks.train.small_request import request_of
from tests.tasks.train.small_training import RECIPE, prompt_rows

pytestmark = pytest.mark.slow

NF4: dict[str, Any] = {
    "load_in_4bit": True,
    "optimizer": {"name": "adamw_8bit"},
    # A state has 8 bits where a tensor has 4,096 numbers or more: rank 128 x width 32.
    "lora": {"rank": 128, "alpha": 8},
}


@pytest.fixture
def _scales_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a quantization state is moved without its weights: on a CPU, where both are, nobody would see it.

    A whole module takes both along: accelerate prepares a model so, for the device that it is on.
    """
    whole_modules = 0
    move_module = torch.nn.Module.to

    def to(self: torch.nn.Module, *arguments: Any, **named: Any) -> Any:
        nonlocal whole_modules
        whole_modules += 1
        try:
            return move_module(self, *arguments, **named)
        finally:
            whole_modules -= 1

    def refuse(_: QuantState, device: object) -> None:
        assert whole_modules, f"a quantization state was moved to {device}, and its weights were not"

    monkeypatch.setattr(torch.nn.Module, "to", to)
    monkeypatch.setattr(QuantState, "to", refuse)
    monkeypatch.setattr(preflight_model, "CACHED_TOKENS", 6)


def _states(trainer: Any) -> list[int]:
    return [id(parameter.quant_state) for parameter in trainer.model.parameters() if hasattr(parameter, "quant_state")]


@pytest.mark.usefixtures("_scales_stay")
def test_preflight_validation_checkpoints_and_resume_move_no_quantization_state(tmp_path: Path) -> None:
    whole = KeptTraining(tmp_path / "whole", rows=prompt_rows(each=2), max_steps=4, save_every=1, **NF4)
    tokenizer = load_tokenizer(tmp_path / "whole" / "work" / "base")
    rows = prompt_rows()
    base = tmp_path / "whole" / "work" / "base"
    recipe = TrainConfig.model_validate({**RECIPE, **NF4, "learning_rate": 1e-2})
    request = request_of(recipe, tmp_path, tmp_path, base=base, seed=1, max_prompt_tokens=64)
    rewards = ComponentRewards(Databases(()), "grounded")
    checks = preflight(whole.trainer, tokenizer, request, rows, rewards, lambda *_: None)
    by_name = {check.name: check for check in checks}
    assert by_name["moved_by_a_step"].passed, by_name["moved_by_a_step"].measured
    assert by_name["adapter_reload"].passed, by_name["adapter_reload"].measured
    validate(
        whole.trainer.model, tokenizer, rows, Databases(()), "grounded", step=0, temperature=0.1, max_tokens=8,
        batch_size=4, seed=1,
    )  # fmt: skip
    keeper = Collecting()
    whole.keep_with(keeper)
    whole.resume(None)
    checkpoints = keeper.write(tmp_path / "checkpoints")
    resumed = KeptTraining(tmp_path / "resumed", rows=prompt_rows(each=2), max_steps=4, save_every=1, **NF4)
    resumed.keep_with(Collecting())
    resumed.resume(checkpoints[2])
    assert resumed.trainer.state.global_step == 4
    assert len(_states(resumed.trainer)) == 7


def test_a_bfloat16_adapter_becomes_float32_on_any_device_and_the_base_stays_as_it_is() -> None:
    """TRL casts it at each construction with a quantized model; on a GPU it used to stay so."""
    model = torch.nn.Sequential(*(torch.nn.Linear(2, 2, dtype=torch.bfloat16, device="meta") for _ in range(2)))
    model[0].requires_grad_(False)
    keep_adapter_in_float32(model)
    assert (model[0].weight.dtype, model[1].weight.dtype) == (torch.bfloat16, torch.float32)
