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


def test_four_bit_quantizes_the_linear_layers_and_keeps_the_answers_close(base: Path) -> None:
    import torch
    from bitsandbytes.nn import Linear4bit

    full, small = load_base(base, four_bit=False), load_base(base, four_bit=True)
    assert any(isinstance(module, Linear4bit) for module in small.modules())
    tokens = torch.tensor([[5, 6, 7, 8]])
    with torch.inference_mode():
        difference = (full(tokens).logits - small(tokens).logits).abs().mean()
    assert 0 < difference < 0.1


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


def test_an_empty_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model can be read from"):
        load_base(tmp_path, four_bit=False)
    with pytest.raises(InputError, match="no tokenizer can be read from"):
        load_tokenizer(tmp_path)


def test_a_tokenizer_without_a_chat_template_is_refused(base: Path, tmp_path: Path) -> None:
    folder = tmp_path / "silent"
    shutil.copytree(base, folder)
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(InputError, match="has no chat template"):
        load_tokenizer(folder)


def test_an_adapter_of_another_base_is_refused(base: Path, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import Qwen2Config, Qwen2ForCausalLM

    other = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=512, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
            num_key_value_heads=2,
        )
    )  # fmt: skip
    get_peft_model(other, LoraConfig(r=2, target_modules="all-linear")).save_pretrained(tmp_path / "adapter")
    with pytest.raises(InputError, match="is of another base: width 32"):
        load_policy(base, tmp_path / "adapter", four_bit=False)
