"""Adapter weights: in memory, and in the folder format that PEFT loads."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

WEIGHTS_FILE: Final = "adapter_model.safetensors"
CONFIG_FILE: Final = "adapter_config.json"


def adapter_parameters(model: Any) -> dict[str, Any]:
    """Return a PEFT model's adapter parameters, under the names used in its files."""
    from peft import get_peft_model_state_dict

    # Adapter only: the state dict of a quantized base would be repacked for nothing.
    own = {name: weights for name, weights in model.named_parameters() if weights.requires_grad}
    found: dict[str, Any] = get_peft_model_state_dict(model, state_dict=own, save_embedding_layers=False)
    return found


def adapter_weights(model: Any) -> dict[str, Any]:
    """Return a CPU copy of a PEFT model's adapter weights, under the names used in its files."""
    return {name: values.detach().to("cpu", copy=True) for name, values in adapter_parameters(model).items()}


def adapter_config(model: Any) -> dict[str, Any]:
    """Return a PEFT model's configuration without run-dependent details: set order, local paths."""

    def as_json(value: Any) -> Any:
        return sorted(value) if isinstance(value, set | frozenset) else getattr(value, "value", str(value))

    values: dict[str, Any] = json.loads(json.dumps(model.peft_config["default"].to_dict(), default=as_json))
    return values | {"base_model_name_or_path": None, "inference_mode": True}


def write_adapter(folder: Path, weights: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    """Write an adapter into a folder, which is created if missing."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: values.contiguous() for name, values in weights.items()}, folder / WEIGHTS_FILE, {"format": "pt"})
    (folder / CONFIG_FILE).write_text(json.dumps(config, indent=2, sort_keys=True), encoding="utf-8")


def load_adapter_weights(model: Any, folder: Path) -> None:
    """Load the weights of an adapter folder into a PEFT model; ValueError where they are not those of its adapter."""
    from peft import set_peft_model_state_dict
    from safetensors.torch import load_file

    loaded = set_peft_model_state_dict(model, load_file(folder / WEIGHTS_FILE))
    missing = [name for name in loaded.missing_keys if "lora_" in name]
    if loaded.unexpected_keys or missing:
        raise ValueError(
            f"the adapter in {folder} has other weights than the model's: {missing or loaded.unexpected_keys}"
        )
