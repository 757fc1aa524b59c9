"""What the engine does not know of a policy is left to transformers, and named."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tasks.policy.load import load_base
from tasks.policy.unpacked import unknown_to_engine, unpacked


def _with_adapter(model: Any, **settings: Any) -> Any:
    from peft import LoraConfig, get_peft_model

    return get_peft_model(model, LoraConfig(r=4, target_modules="all-linear", **settings))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda model: _with_adapter(model, use_dora=True), "q_proj: Linear"),
        (lambda model: _with_adapter(model, lora_bias=True), "proj: Linear"),
        (lambda model: _with_adapter(model, modules_to_save=["lm_head"]), "lm_head: ModulesToSaveWrapper"),
        (lambda model: _with_adapter(model, trainable_token_indices=[3]), "embed_tokens: TrainableTokensWrapper"),
        (lambda model: _configured(model, layer_types=["sliding_attention"]), "layer_types: sliding_attention"),
        (lambda model: _configured(model, rope_parameters={"rope_type": "dynamic"}), "rope_type: dynamic"),
        (lambda model: _configured(model, model_type="mistral"), "model_type: mistral"),
    ],
)
def test_unknown_parts_of_a_policy_are_named(base: Path, change: Callable[[Any], Any], reason: str) -> None:
    model = load_base(base, four_bit=False)
    assert unknown_to_engine(model) is None
    assert reason in str(unknown_to_engine(change(model)))


def _configured(model: Any, **settings: Any) -> Any:
    for name, value in settings.items():
        setattr(model.config, name, value)
    return model


def test_only_an_adapter_that_is_on_is_added(base: Path) -> None:
    import torch

    model = _with_adapter(load_base(base, four_bit=False))
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "lora_B" in name:
                weights.fill_(0.1)
    with model.disable_adapter():
        off = unpacked(model)
    found = [each.model.layers[0].mlp.up_proj.weight for each in (off, unpacked(model))]
    own = model.get_base_model().model.layers[0].mlp.up_proj.base_layer.weight
    assert [torch.equal(weight, own) for weight in found] == [True, False]
