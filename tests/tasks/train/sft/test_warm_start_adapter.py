"""The adapter of a warm start: merged in the published weights' type, kept beside them, and taught in less memory."""

from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from schemas.config.policy import PolicyConfig, WarmStartConfig
from tests.tasks.train.small_training import tiny_policy
from tests.tasks.train.small_warm_start import GENERAL, ROWS, make_base, weights_of, write_dataset

pytestmark = pytest.mark.slow

TAUGHT = {"steps": 2, "batch_size": 4, "learning_rate": 2e-2, "lora": {"rank": 2, "alpha": 4}}


def _taught(published: Path, folder: Path, **settings: Any) -> Path:
    folder.mkdir()
    write_dataset(folder, ROWS, GENERAL)
    checkpointing = settings.pop("gradient_checkpointing", False)
    return make_base(
        folder,
        PolicyConfig(name=str(published)),
        WarmStartConfig.model_validate(TAUGHT | settings),
        gradient_checkpointing=checkpointing,
    )


def test_an_adapter_learnt_beside_nf4_is_merged_into_the_published_weights(tmp_path: Path) -> None:
    """Merged into the quantized ones, every weight would be one of NF4's sixteen; in float32, twice as large."""
    import torch

    model, tokenizer = tiny_policy()
    model.to(torch.bfloat16).save_pretrained(tmp_path / "published")
    tokenizer.save_pretrained(tmp_path / "published")
    output = _taught(tmp_path / "published", tmp_path / "run", load_in_4bit=True, accumulation=2)
    adapter = load_file(tmp_path / "run" / "warm_start" / "adapter" / "adapter_model.safetensors")
    before, after = weights_of(tmp_path / "published"), weights_of(output)
    assert before.keys() == after.keys()
    for name, weights in before.items():
        own = f"base_model.model.{name.removesuffix('.weight')}.lora_{{}}.weight"
        assert after[name].dtype == torch.bfloat16
        if own.format("A") not in adapter:
            assert after[name].equal(weights), name
            continue
        assert adapter[own.format("A")].dtype == torch.float32
        change = adapter[own.format("B")] @ adapter[own.format("A")] * (4 / 2)
        assert change.any()
        assert after[name].equal((weights.float() + change).to(torch.bfloat16)), name
