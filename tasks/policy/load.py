"""Loading of a policy from its folders: the base, optionally NF4-quantized, and the adapter on top of it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

LONGEST_REASON: Final = 160
"""Characters of a library's message that an error repeats."""
WEIGHTS: Final = ("*.safetensors", "pytorch_model*.bin")
"""File patterns of a model's weights."""
TARGET: Final = re.compile(r"^base_model\.model\.(?P<layer>.+)\.lora_(?P<side>[AB])\.weight$")
"""Tensor name in a saved adapter: the base layer that it belongs to, and which of the two factors it is."""
LAYER_NUMBER: Final = re.compile(r"\.layers\.(\d+)\.")


def load_tokenizer(base: Path) -> "PreTrainedTokenizerBase":
    """Load the tokenizer of a base, padding on the left as batched generation needs.

    Raises:
        InputError: The folder holds no tokenizer, or one without a chat template.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(base, padding_side="left")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable("tokenizer", base, error) from error
    if tokenizer.vocab_size < 2:
        raise InputError(f"the tokenizer in {base} has no vocabulary; give the folder of a whole downloaded model")
    if tokenizer.chat_template is None:
        raise InputError(f"the tokenizer in {base} has no chat template; use an Instruct model or add one to it")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_base(base: Path, *, four_bit: bool) -> "PreTrainedModel":
    """Load the base's weights, optionally frozen in NF4, with a neutral generation configuration.

    The source project lost its first full run to a `temperature=0.1` in the model's own generation_config.

    Raises:
        InputError: The folder holds no readable model, or not all of its weights.
    """
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM

    try:
        model, report = AutoModelForCausalLM.from_pretrained(
            base, output_loading_info=True, **loading_arguments(four_bit=four_bit)
        )
    except (torch.OutOfMemoryError, MemoryError):
        raise
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise _unreadable("model", base, error) from error
    if report["missing_keys"]:
        # Missing weights would silently be drawn at random.
        raise InputError(
            f"no model can be read from {base}: {len(report['missing_keys'])} of its tensors are missing, such as "
            f"{min(report['missing_keys'])}; give the folder of a whole downloaded model"
        )
    reset_generation_config(model)
    if four_bit:
        keep_weights_trainable(model)
    return model


def loading_arguments(*, four_bit: bool) -> dict[str, Any]:
    """Return the `from_pretrained` arguments for frozen weights: directly on the device, in its best type."""
    import torch
    from transformers import BitsAndBytesConfig

    on_gpu = torch.cuda.is_available()
    dtype = torch.bfloat16 if on_gpu else torch.float32
    arguments = {"dtype": dtype, "device_map": {"": torch.cuda.current_device() if on_gpu else "cpu"}}
    if not four_bit:
        return arguments
    quantization = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_compute_dtype=dtype,
        # As in Unsloth, so that transformers evaluates the weights that Unsloth trains beside. A CPU only loses time.
        bnb_4bit_use_double_quant=on_gpu,
    )
    return {**arguments, "quantization_config": quantization}


def keep_weights_trainable(model: "PreTrainedModel") -> None:
    """Keep bitsandbytes from repacking a model's NF4 weights when it first generates on a CPU.

    On processors with AVX512-BF16 it would, for a kernel without gradients: the next training step would fail, and
    answers would differ from those of other processors.
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
    """Load a base and the adapter trained on it, ready to generate.

    Raises:
        InputError: A folder cannot be read, or the adapter belongs to another base.
    """
    model = load_base(base, four_bit=four_bit)
    if adapter is not None:
        from peft import PeftModel

        _refuse_another_base(adapter, model, base)
        model = PeftModel.from_pretrained(model, adapter)
    return model.eval()


def _refuse_another_base(adapter: Path, model: "PreTrainedModel", base: Path) -> None:
    """Compare every adapted layer with the base's own; PEFT would ignore layers that do not match."""
    beside = _adapted_layers(adapter)
    own = dict(model.named_modules())
    difference = _difference_in_layers(beside, own)
    if difference is None:
        found = (_difference_in_width(name, shape, own[name]) for name, shape in beside.items())
        difference = next((text for text in found if text is not None), None)
    if difference is not None:
        raise InputError(
            f"the adapter in {adapter} is of another base than {base}: {difference}; give the base that it was "
            "trained on"
        )


def _adapted_layers(adapter: Path) -> dict[str, tuple[int, int]]:
    """Return the input and output size of each adapted layer, by layer name."""
    from safetensors import SafetensorError, safe_open

    sizes: dict[str, dict[str, int]] = {}
    try:
        json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
        with safe_open(adapter / "adapter_model.safetensors", framework="numpy") as tensors:
            for name in tensors.keys():  # noqa: SIM118 - no mapping
                if target := TARGET.match(name):
                    given, taken = tensors.get_slice(name).get_shape()
                    sides = sizes.setdefault(target["layer"], {})
                    sides[target["side"]] = taken if target["side"] == "A" else given
        layers = {name: (sides["A"], sides["B"]) for name, sides in sizes.items()}
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise _unreadable("LoRA adapter", adapter, error) from error
    if not layers:
        raise InputError(f"no LoRA adapter can be read from {adapter}: it has no tensors of one; train it again")
    return layers


def _difference_in_layers(beside: Mapping[str, object], own: Mapping[str, object]) -> str | None:
    numbers = {int(found[1]) for name in beside if (found := LAYER_NUMBER.search(f".{name}"))}
    own_numbers = {int(found[1]) for name in own if (found := LAYER_NUMBER.search(f".{name}."))}
    if numbers != own_numbers:
        return f"it has {len(numbers)} layers, and the base has {len(own_numbers)}"
    absent = min((name for name in beside if name not in own), default=None)
    return None if absent is None else f"it is beside {absent}, which the base has not"


def _difference_in_width(name: str, shape: tuple[int, int], layer: Any) -> str | None:
    own = (layer.in_features, layer.out_features)
    if shape == own:
        return None
    return f"at {name} it has width {shape[0]} to {shape[1]}, and the base has {own[0]} to {own[1]}"


def _unreadable(what: str, folder: Path, error: Exception) -> InputError:
    """Return one sentence on a folder's missing files, or else the start of the library's message."""
    if not folder.is_dir():
        reason = "there is no such folder"
    elif what == "model" and not (folder / "config.json").exists():
        reason = "it has no config.json"
    elif what == "model" and not any(file for pattern in WEIGHTS for file in folder.glob(pattern)):
        reason = "it has no weights"
    else:
        lines = str(error).splitlines() or [""]
        reason = f"its files are damaged or of another kind ({type(error).__name__}: {_shortened(lines[0])})"
    remedy = "train it again" if what == "LoRA adapter" else "give the folder of a whole downloaded model"
    return InputError(f"no {what} can be read from {folder}: {reason}; {remedy}")


def _shortened(line: str) -> str:
    """Shorten a library's line to its first sentence, without web addresses."""
    return re.sub(r"\W*https?://\S*", "", re.split(r"(?<=[.!?])\s", line)[0])[:LONGEST_REASON].rstrip(" .:;,")
