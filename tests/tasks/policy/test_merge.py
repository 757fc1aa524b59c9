"""The merged model is the base with its adapter, in the base's own precision, or it is not written as one."""

from pathlib import Path
from typing import Any

import pytest

from schemas.errors import GateRefused
from tasks.policy import merge
from tasks.policy.generate import as_messages
from tasks.policy.merge import ANSWER_TOKENS, MergeCheck, write_merged
from tasks.stand_in.model import StandInShape
from tests.small_base import save_base

SMALL = StandInShape(vocabulary_size=512, hidden_size=32, layers=2, heads=2, key_value_heads=1, feed_forward_size=32)
PROBE = [[5, 60, 7, 88, 91, 130]]
# Of different lengths, so that the shorter ones are padded.
PROMPTS = [as_messages("Responda em português.", "o pedido chegou atrasado " * (1 + count)) for count in range(20)]


def _written(folder: Path, *, spread: float = 0.05, dtype: str = "float32") -> tuple[Path, Path]:
    """Save a base, and an adapter that matters: LoRA's B is zero at first, and any merge would look right."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    base, adapter = save_base(folder / "base", SMALL), folder / "adapter"
    model = AutoModelForCausalLM.from_pretrained(base, dtype=getattr(torch, dtype))
    model.generation_config.update(temperature=0.1, do_sample=True, repetition_penalty=1.2)
    model.save_pretrained(base)
    model = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules="all-linear"))
    torch.manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=spread)
    model.save_pretrained(adapter)
    return base, adapter


def _merge(base: Path, adapter: Path, output: Path) -> MergeCheck:
    return write_merged(base, adapter, output, PROMPTS, remedy="leave it unmerged")


def _logits(model: Any) -> Any:
    import torch

    with torch.inference_mode():
        return model.float().eval()(torch.tensor(PROBE)).logits


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("bfloat16", 2e-2)])
def test_the_merged_model_answers_as_base_and_adapter(tmp_path: Path, dtype: str, tolerance: float) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base, adapter = _written(tmp_path, dtype=dtype)
    check = _merge(base, adapter, tmp_path / "merged")
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
    assert (check.prompts, check.dtype) == (20, dtype)
    assert 20 <= check.tokens <= 20 * ANSWER_TOKENS
    assert check.merged_difference < merge.MERGED_TOLERANCE
    assert check.written_difference < tolerance


@pytest.mark.parametrize("ours", [True, False])
def test_the_compared_tokens_are_greedy(*, ours: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All prompts are answered at once, by transformers padded; the padding must not be answered to."""
    from peft import PeftModel

    from tasks.policy.load import load_tokenizer

    monkeypatch.setattr(merge, "engine_draws", lambda _: ours)
    monkeypatch.delattr(merge, "draw_by_transformers" if ours else "draw_by_engine")
    base, adapter = _written(tmp_path, spread=0.5)
    tokenizer = load_tokenizer(base)
    tokenizer.padding_side = "right"
    model = PeftModel.from_pretrained(merge._load_exact(base), adapter).eval()
    answers = merge._answer(model, tokenizer, PROMPTS)
    # Each prompt with its answer alone, as a sequence without padding.
    chosen = merge._logits(model, answers).argmax(dim=-1).tolist()
    assert chosen == [token for _, own in answers for token in own]
    assert all(len(own) == ANSWER_TOKENS or own[-1] == tokenizer.eos_token_id for _, own in answers)
    assert len(set(chosen)) > 5


@pytest.mark.parametrize(
    ("spread", "reported"), [(0.05, "standard deviations of a logit, limit 1e-03"), (0.5, "answers with other words")]
)
def test_a_bad_merge_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spread: float, reported: str) -> None:
    """Unloading without merging gives the base back, and a report that praises it."""
    from peft import PeftModel

    base, adapter = _written(tmp_path, spread=spread)
    monkeypatch.setattr(PeftModel, "merge_and_unload", lambda self: self.unload(), raising=False)
    with pytest.raises(GateRefused, match=f"{reported}; leave it unmerged"):
        _merge(base, adapter, tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_written_weights_are_compared_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, adapter = _written(tmp_path, dtype="bfloat16")
    monkeypatch.setattr(merge, "WRITTEN_TOLERANCE", 0.0)
    with pytest.raises(GateRefused, match=r"the model written to .*merged differs"):
        _merge(base, adapter, tmp_path / "merged")
