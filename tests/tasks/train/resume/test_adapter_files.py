"""An adapter as files: PEFT loads what was written, and nothing in it depends on the machine."""

import json
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model

from tasks.train.resume.adapter_files import (
    CONFIG_FILE,
    adapter_config,
    adapter_weights,
    write_adapter,
)
from tests.tasks.train.small_training import tiny_policy

IDS = torch.tensor([[1, 2, 3, 4, 5]])


def _adapted(rank: int = 4, seed: int = 1, base: Any = None, **changes: Any) -> Any:
    """Return a policy with an adapter that does something."""
    config = LoraConfig(
        **{"r": rank, "lora_alpha": 8, "target_modules": "all-linear", "task_type": "CAUSAL_LM", **changes}
    )
    model = get_peft_model(base or tiny_policy()[0], config).eval()
    generator = torch.Generator().manual_seed(seed)
    for weights in model.parameters():
        if weights.requires_grad:
            weights.data = torch.randn(weights.shape, generator=generator)
    return model


def _logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        logits: torch.Tensor = model(IDS).logits
    return logits


def test_peft_loads_what_was_written(tmp_path: Path) -> None:
    model = _adapted()
    wanted = _logits(model)
    write_adapter(tmp_path / "adapter", adapter_weights(model), adapter_config(model))
    base = tiny_policy()[0].eval()
    assert not torch.equal(_logits(base), wanted)
    assert torch.equal(_logits(PeftModel.from_pretrained(base, tmp_path / "adapter").eval()), wanted)


def test_the_configuration_names_no_path_and_has_the_modules_in_order(tmp_path: Path) -> None:
    """PEFT keeps the modules in a set, whose order is another in each process."""
    base, _ = tiny_policy()
    base.save_pretrained(tmp_path / "base")
    base.config._name_or_path = str(tmp_path / "base")
    modules = ["v_proj", "q_proj", "o_proj", "k_proj"]
    model = _adapted(base=base, target_modules=modules)
    write_adapter(tmp_path / "adapter", adapter_weights(model), adapter_config(model))
    written = json.loads((tmp_path / "adapter" / CONFIG_FILE).read_text(encoding="utf-8"))
    assert written["target_modules"] == sorted(modules)
    assert (written["r"], written["lora_alpha"], written["inference_mode"]) == (4, 8, True)
    assert str(tmp_path) not in json.dumps(written)
