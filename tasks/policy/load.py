"""Reads a policy from its folders: the base, NF4-quantized or not, and the adapter on top of it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def load_tokenizer(base: Path) -> "PreTrainedTokenizerBase":
    """Read the tokenizer of a base, padding on the left as batched generation needs.

    Raises:
        InputError: The folder holds no tokenizer, or one without a chat template.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(base, padding_side="left")
    except (OSError, ValueError) as error:
        raise InputError(f"no tokenizer can be read from {base}: {error}") from error
    if tokenizer.chat_template is None:
        raise InputError(f"the tokenizer in {base} has no chat template; use an Instruct model or add one to it")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_base(base: Path, *, four_bit: bool) -> "PreTrainedModel":
    """Read the base's weights, frozen in NF4 where asked, with a generation configuration that decides nothing.

    The source project lost its first full run to a `temperature=0.1` in the model's own generation_config.

    Raises:
        InputError: The folder holds no model that can be read.
    """
    import torch
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    on_gpu = torch.cuda.is_available()
    dtype = torch.bfloat16 if on_gpu else torch.float32
    quantization = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_compute_dtype=dtype,
        bnb_4bit_use_double_quant=False,
    )
    try:
        model = AutoModelForCausalLM.from_pretrained(
            base,
            dtype=dtype,
            quantization_config=quantization if four_bit else None,
            device_map={"": "cuda:0" if on_gpu else "cpu"},
        )
    except (OSError, ValueError) as error:
        raise InputError(f"no model can be read from {base}: {error}") from error
    reset_generation_config(model)
    if four_bit and not on_gpu:
        _keep_weights_trainable(model)
    return model


def _keep_weights_trainable(model: "PreTrainedModel") -> None:
    """Keep bitsandbytes from packing a model's weights the first time that it generates.

    On processors with AVX512-BF16 it would, for a kernel that computes no gradient: the next training step would fail,
    and answers would differ from those of other processors.
    """
    from bitsandbytes.nn import Linear4bit

    for module in model.modules():
        if isinstance(module, Linear4bit):
            module.support_avx512bf16_for_cpu = False


def reset_generation_config(model: "PreTrainedModel") -> None:
    """Replace the model's generation configuration by one that only names its special tokens."""
    from transformers import GenerationConfig

    own = model.generation_config
    model.generation_config = GenerationConfig(
        pad_token_id=own.pad_token_id if own.pad_token_id is not None else model.config.pad_token_id,
        eos_token_id=own.eos_token_id if own.eos_token_id is not None else model.config.eos_token_id,
    )


def load_policy(base: Path, adapter: Path | None, *, four_bit: bool) -> "PreTrainedModel":
    """Read a base and, where given, the adapter that was trained on it, ready to generate.

    Raises:
        InputError: A folder cannot be read, or the adapter belongs to another base.
    """
    model = load_base(base, four_bit=four_bit)
    if adapter is not None:
        from peft import PeftModel

        _check_adapter(adapter, model.config.hidden_size, base)
        model = PeftModel.from_pretrained(model, adapter)
    return model.eval()


def _check_adapter(adapter: Path, hidden_size: int, base: Path) -> None:
    from safetensors import safe_open

    try:
        json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
        with safe_open(adapter / "adapter_model.safetensors", framework="numpy") as tensors:
            name = next(name for name in tensors.keys() if "q_proj.lora_A" in name)  # noqa: SIM118
            width = tensors.get_slice(name).get_shape()[1]
    except (OSError, ValueError, StopIteration) as error:
        raise InputError(f"no LoRA adapter can be read from {adapter}: {error}") from error
    if width != hidden_size:
        raise InputError(f"the adapter in {adapter} is of another base: width {width}, but {base} has {hidden_size}")
