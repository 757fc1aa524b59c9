"""Copy of a policy for sampling: its base unpacked from NF4 and its adapter added, in float32, without PEFT's layers.

A LoRA layer computes three products at each token and unpacks its base for them; the copy computes one. What is frozen
and already in float32 is shared with the policy, so that a policy without an adapter costs no memory.
"""

import copy
import logging
from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

FAMILIES: Final = ("llama", "qwen2", "qwen3")
"""Model types, as in a config.json, whose layers take the engine's cache and attention, and a packed row's."""
ROTATIONS: Final = ("default", "linear", "llama3", "yarn")
"""Rotary embeddings that depend on a token's position alone, and not on how long the sequence has become."""
_LOG: Final = logging.getLogger(__name__)


def engine_draws(model: Any, *, stock: bool = False) -> bool:
    """Return whether the engine draws a policy's completions; a policy that it does not know is logged once."""
    if stock or model.device.type != "cpu":
        return False
    unknown = unknown_to_engine(model)
    if unknown is not None:
        _log(unknown)
    return unknown is None


@lru_cache
def _log(unknown: str) -> None:
    _LOG.warning(
        "transformers' generate draws the completions, more slowly than our engine, which does not know %s", unknown
    )


def unknown_to_engine(model: Any, *, stock: bool = False) -> str | None:
    """Return what keeps the engine from drawing on a CPU, by names alone; None too where `generate` was asked for."""
    base = _base(model)
    if stock or base.device.type != "cpu":
        return None
    if (reason := unsupported_architecture(base, FAMILIES)) is not None:
        return reason
    unknown = next((name for name, module in base.named_modules() if not _is_known(module)), None)
    return None if unknown is None else f"{unknown}: {type(base.get_submodule(unknown)).__name__}"


def unsupported_architecture(base: Any, families: Collection[str]) -> str | None:
    """Return what sets a model apart from transformers' decoders with full attention, by name; None for nothing."""
    config = base.config
    if config.model_type not in families or type(base).__module__.split(".")[0] != "transformers":
        return f"model_type: {config.model_type} ({type(base).__name__})"
    # A family without such layers has no list of them.
    if others := {*(getattr(config, "layer_types", None) or ())} - {"full_attention"}:
        return f"layer_types: {min(others)}"
    if (rotation := config.rope_parameters.get("rope_type", "default")) not in ROTATIONS:
        return f"rope_type: {rotation}"
    return None


def _base(model: Any) -> Any:
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _is_known(module: "torch.nn.Module") -> bool:
    """Return whether a module is neither an adapter's nor quantized, or such as `_weight` reads."""
    import torch
    from peft.tuners.lora import LoraLayer
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils import AuxiliaryTrainingWrapper

    if isinstance(module, BaseTunerLayer):
        plain = isinstance(module, LoraLayer) and isinstance(module.get_base_layer(), torch.nn.Linear)
        return plain and not module.merged and not any((module.lora_variant, *module.lora_bias.values()))
    if isinstance(module, AuxiliaryTrainingWrapper):
        return False
    weight = getattr(module, "weight", None)
    return weight is None or weight.is_floating_point() or type(weight).__name__ == "Params4bit"


def unpacked(model: Any) -> "PreTrainedModel":
    """Return a policy's copy in float32, ready to generate."""
    import torch
    from transformers.initialization import no_init_weights

    base = _base(model)
    config = copy.deepcopy(base.config)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config._attn_implementation = "sdpa"  # noqa: SLF001 - transformers has no other way
    with torch.device("meta"), no_init_weights():
        made: PreTrainedModel = type(base)(config)
    tensors: dict[str, torch.Tensor] = {}
    for name, module in made.named_modules():
        own = base.get_submodule(name)
        if isinstance(module, torch.nn.Linear):
            tensors[f"{name}.weight"] = _weight(own)
        for field, _ in module.named_parameters(recurse=False):
            if f"{name}.{field}" not in tensors:
                tensors[f"{name}.{field}"] = getattr(own, field).detach().float()
    made.load_state_dict(tensors, assign=True)
    made.tie_weights()
    # Its frequencies are computed, and not among the weights.
    made.model.rotary_emb = base.model.rotary_emb
    return made.eval().requires_grad_(requires_grad=False)


def _weight(layer: Any) -> "torch.Tensor":
    """Return a linear layer's weight, unpacked, with what its active adapters add."""
    inner = getattr(layer, "base_layer", layer)
    weight: torch.Tensor = inner.weight
    if hasattr(weight, "quant_state"):
        from bitsandbytes.functional import dequantize_4bit

        weight = dequantize_4bit(weight.data, weight.quant_state)
    weight = weight.float()
    if inner is not layer and not layer.disable_adapters:
        for adapter in layer.active_adapters:
            if adapter in layer.lora_A:
                weight = weight + layer.get_delta_weight(adapter).float()
    return weight.detach()
