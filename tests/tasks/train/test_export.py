"""The merged model is the base with its adapter, in the base's own precision, or it is not written as one."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.config import PolicyConfig
from schemas.errors import GateRefused, InputError
from tasks.train import export
from tasks.train.export import write_merged

SMALL = PolicyConfig(stand_in=True, vocabulary_size=512, hidden_size=32, layers=2, heads=2, feed_forward_size=32)
PROBE = [[5, 60, 7, 88, 91, 130]]


def _write_base(folder: Path, *, width: int = 32, dtype: str = "float32") -> Path:
    import torch

    from tasks.policy.stand_in import build_model, build_tokenizer

    tokenizer = build_tokenizer(["o pedido chegou atrasado, mas o produto é ótimo"] * 50, 512)
    policy = SMALL.model_copy(update={"hidden_size": width})
    model = build_model(policy, tokenizer, 3).to(getattr(torch, dtype))
    model.generation_config.temperature = 0.1
    model.generation_config.do_sample = True
    model.generation_config.repetition_penalty = 1.2
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _write_adapter(folder: Path, base: Path) -> Path:
    """Save an adapter that matters: LoRA's B is zero until it is trained, and any merge would look right."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = get_peft_model(
        AutoModelForCausalLM.from_pretrained(base), LoraConfig(r=4, lora_alpha=8, target_modules="all-linear")
    )
    torch.manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.05)
    model.save_pretrained(folder)
    return folder


def _logits(model: Any) -> Any:
    import torch

    with torch.inference_mode():
        return model.float().eval()(torch.tensor(PROBE)).logits


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("bfloat16", 2e-2)])
def test_the_merged_model_answers_as_base_and_adapter(tmp_path: Path, dtype: str, tolerance: float) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = _write_base(tmp_path / "base", dtype=dtype)
    adapter = _write_adapter(tmp_path / "adapter", base)
    write_merged(base, adapter, tmp_path / "merged")
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "merged", dtype="auto")
    assert merged.dtype == getattr(torch, dtype)
    plain = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    alone = _logits(plain)
    together = _logits(PeftModel.from_pretrained(plain, adapter))
    assert (alone - together).abs().max() > 10 * tolerance
    assert (_logits(merged) - together).abs().max() < tolerance
    assert not list((tmp_path / "merged").glob("adapter*"))
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "merged")
    assert tokenizer.chat_template == AutoTokenizer.from_pretrained(base).chat_template


def test_the_bases_own_sampling_is_not_passed_on(tmp_path: Path) -> None:
    """Tucano2's own configuration has a temperature of 0.1 and a repetition penalty that nothing was evaluated with."""
    base = _write_base(tmp_path / "base")
    write_merged(base, _write_adapter(tmp_path / "adapter", base), tmp_path / "merged")
    written = json.loads((tmp_path / "merged" / "generation_config.json").read_text(encoding="utf-8"))
    assert not {"temperature", "repetition_penalty"} & set(written)
    assert written["eos_token_id"] is not None


def test_an_adapter_of_another_base_is_refused(tmp_path: Path) -> None:
    base, wider = _write_base(tmp_path / "base"), _write_base(tmp_path / "wider", width=64)
    with pytest.raises(InputError, match=r"no adapter of .*base can be read from .*\(RuntimeError\); train it anew"):
        write_merged(base, _write_adapter(tmp_path / "adapter", wider), tmp_path / "merged")


def test_a_merge_that_went_wrong_is_not_passed_off_as_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unloading without merging gives the base back, and a report that praises it."""
    from peft import PeftModel

    base = _write_base(tmp_path / "base")
    adapter = _write_adapter(tmp_path / "adapter", base)
    monkeypatch.setattr(PeftModel, "merge_and_unload", lambda self: self.unload(), raising=False)
    with pytest.raises(GateRefused, match=r"train\.export_merged=false"):
        write_merged(base, adapter, tmp_path / "merged")


def test_what_is_on_disk_is_compared_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = _write_base(tmp_path / "base", dtype="bfloat16")
    adapter = _write_adapter(tmp_path / "adapter", base)
    monkeypatch.setattr(export, "WRITTEN_TOLERANCE", 0.0)
    with pytest.raises(GateRefused, match=r"the model written to .*merged differs"):
        write_merged(base, adapter, tmp_path / "merged")
