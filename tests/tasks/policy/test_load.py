"""Reading a policy: what decides its sampling, and what a folder must hold."""

import json
import shutil
from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.policy.load import load_base, load_policy, load_tokenizer


def test_a_temperature_in_the_models_own_generation_config_does_not_leak(base: Path, tmp_path: Path) -> None:
    """The bug that cost the source project its first full run: temperature 0.1, all completions alike."""
    folder = tmp_path / "leaky"
    shutil.copytree(base, folder)
    leaky = json.loads((folder / "generation_config.json").read_text(encoding="utf-8"))
    leaky |= {"do_sample": True, "temperature": 0.1, "min_p": 0.9, "top_k": 1}
    (folder / "generation_config.json").write_text(json.dumps(leaky), encoding="utf-8")
    config = load_base(folder, four_bit=False).generation_config
    assert {config.temperature, config.min_p, config.top_k} <= {None, 1.0, 50}
    assert config.eos_token_id == load_tokenizer(folder).eos_token_id


def test_quantized_weights_can_be_trained_after_they_generated(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bug of processors with AVX512-BF16: bitsandbytes packs the weights for a kernel without a gradient."""
    import torch
    from bitsandbytes.nn import Linear4bit, modules

    monkeypatch.setattr(modules, "has_avx512bf16", lambda: True)
    model = load_base(base, four_bit=True)
    tokens = torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        model.eval()(tokens)
    layers = [module for module in model.modules() if isinstance(module, Linear4bit)]
    assert layers
    assert not any(getattr(layer.weight.quant_state, "packing_format_for_cpu", False) for layer in layers)
    model.train()
    model.get_input_embeddings().requires_grad_(True)
    model(tokens).logits.sum().backward()
    assert model.get_input_embeddings().weight.grad.abs().sum() > 0


def copy_of(base: Path, folder: Path) -> Path:
    shutil.copytree(base, folder)
    return folder


def with_settings(folder: Path, **changed: object) -> Path:
    """Change what a model's config.json says of it."""
    file = folder / "config.json"
    values = json.loads(file.read_text(encoding="utf-8")) | changed
    values.pop("layer_types", None)
    file.write_text(json.dumps(values), encoding="utf-8")
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(InputError) as refused:
        load_base(folder, four_bit=False)
    return one_sentence(refused)


def one_sentence(refused: "pytest.ExceptionInfo[InputError]") -> str:
    """Return what was said, which is one line without a page's address, and not long."""
    said = str(refused.value)
    assert "\n" not in said
    assert "http" not in said
    assert len(said) < 500
    return said


def test_a_folder_that_is_not_there_or_lacks_a_part_is_refused(base: Path, tmp_path: Path) -> None:
    assert "there is no such folder" in refusal(tmp_path / "none")
    assert "no model can be read from" in refusal(tmp_path)
    without_weights = copy_of(base, tmp_path / "bare")
    (without_weights / "model.safetensors").unlink()
    assert "model.safetensors" in refusal(without_weights)
    (without_weights / "adapter").mkdir()
    assert "make the base again with --fresh" in refusal(without_weights)
    with pytest.raises(InputError, match="no tokenizer can be read from") as refused:
        load_tokenizer(tmp_path / "none")
    assert "there is no such folder" in one_sentence(refused)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("model.safetensors", b"cut off"),
        ("config.json", b"{"),
        ("config.json", b"[]"),
        ("config.json", b'{"model_type": "unheard_of"}'),
    ],
)
def test_a_damaged_or_unknown_model_is_one_sentence(base: Path, tmp_path: Path, file: str, content: bytes) -> None:
    folder = copy_of(base, tmp_path / "damaged")
    (folder / file).write_bytes(content)
    assert "its files are missing, damaged or of another kind" in refusal(folder)


def test_weights_that_are_missing_are_refused_and_not_drawn_at_random(base: Path, tmp_path: Path) -> None:
    """The library only warns: a layer that was never trained would answer."""
    said = refusal(with_settings(copy_of(base, tmp_path / "deeper"), num_hidden_layers=2))
    assert "it lacks 11 of its tensors, such as model.layers.1.input_layernorm.weight" in said


def adapter_of(folder: Path, **shape: int) -> Path:
    """Save an adapter of a base that is as the tests' own, but for what is named."""
    from peft import LoraConfig, get_peft_model
    from transformers import Qwen3Config, Qwen3ForCausalLM

    own = {
        "vocab_size": 512, "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32,
    }  # fmt: skip
    model = get_peft_model(Qwen3ForCausalLM(Qwen3Config(**(own | shape))), LoraConfig(r=2, target_modules="all-linear"))
    model.save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("shape", "difference"),
    [
        ({"hidden_size": 32}, "their layers differ; give the base"),
        ({"num_key_value_heads": 2}, "their layers differ; give the base"),
        ({"num_hidden_layers": 2}, "their layers differ, such as at base_model.model.model.layers.1."),
    ],
)
def test_another_bases_adapter_is_refused(base: Path, tmp_path: Path, shape: dict[str, int], difference: str) -> None:
    with pytest.raises(InputError, match="is of another base than") as refused:
        load_policy(base, adapter_of(tmp_path / "adapter", **shape), four_bit=False)
    assert difference in one_sentence(refused)
