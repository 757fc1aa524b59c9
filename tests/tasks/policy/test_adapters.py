"""Which adapter answers which task's prompts, and how a policy changes from one to another."""

from pathlib import Path
from typing import Any

import pytest

from schemas.errors import InputError
from tasks.policy.load import adapter_for, load_base, load_policy, switch_adapter


def save_adapter(base: Path, folder: Path, seed: int) -> Path:
    """Save an adapter that changes every answer, as training would leave one; its seed decides how."""
    import torch
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(seed)
    adapter = LoraConfig(r=2, target_modules="all-linear", init_lora_weights=False, task_type="CAUSAL_LM")
    get_peft_model(load_base(base, four_bit=False), adapter).save_pretrained(folder)
    return folder


def _logits(model: Any) -> Any:
    import torch

    with torch.inference_mode():
        return model(torch.tensor([[5, 6, 7, 8]])).logits


def test_a_task_that_no_adapter_was_trained_for_is_refused(tmp_path: Path) -> None:
    for task in ("push", "churn"):
        (tmp_path / "adapters" / task).mkdir(parents=True)
    with pytest.raises(InputError, match=r"has no adapter for sql_qa, only for churn, push; train it"):
        adapter_for(tmp_path, "sql_qa")


def test_a_policy_that_changed_its_adapter_answers_as_one_that_was_loaded_with_it(base: Path, tmp_path: Path) -> None:
    import torch

    push = save_adapter(base, tmp_path / "adapters" / "push", 1)
    churn = save_adapter(base, tmp_path / "adapters" / "churn", 2)
    alone = {folder: _logits(load_policy(base, folder, four_bit=False)) for folder in (push, churn)}
    assert not torch.equal(alone[push], alone[churn])
    model: Any = load_policy(base, push, four_bit=False)
    for folder in (churn, push, churn):
        switch_adapter(model, folder)
        assert torch.equal(_logits(model), alone[folder])
