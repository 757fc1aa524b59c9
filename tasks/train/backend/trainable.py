"""The policy that is trained, by backend: plain transformers with PEFT and bitsandbytes anywhere, or Unsloth on a GPU.

What each backend is told are plain functions of the recipe, which need neither a GPU nor Unsloth to be read.
"""

import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.errors import InputError
from schemas.train_config import TrainConfig

if TYPE_CHECKING:
    from peft import LoraConfig
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

LINEAR_LAYERS: Final = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""All linear layers of a Qwen or Llama decoder: Unsloth wants their names where PEFT takes "all-linear"."""
UNSLOTH_SETTINGS: Final = {
    # As the source project ran it: what is compiled would be compiled again at each change from generation to training.
    "UNSLOTH_COMPILE_DISABLE": "1",
    # It would fetch a file from a hub, to be counted, each time that it loads a model.
    "UNSLOTH_DISABLE_STATISTICS": "1",
}


@dataclass(frozen=True)
class Trainable:
    """What a trainer of TRL is given."""

    model: Any
    """The base, with the adapter on it where `lora` is None."""
    tokenizer: Any
    """Pads on the left."""
    lora: "LoraConfig | None"
    """The adapter that TRL is to put on; None where the backend did."""


def load_trainable(base: Path, config: TrainConfig, *, seed: int, max_prompt_tokens: int) -> Trainable:
    """Load the base and say how its adapter comes on it.

    Unsloth replaces TRL's trainers when it is imported, which happens here: call this before `tasks.train.trainer` or
    another trainer is imported.

    Args:
        base: Folder of the base model.
        config: The recipe.
        seed: Decides the first weights of an adapter that the backend puts on.
        max_prompt_tokens: The longest prompt, in tokens with the chat template.

    Raises:
        InputError: The folder holds no model or tokenizer, or Unsloth or its GPU is missing.
    """
    if config.backend == "unsloth":
        return _load_by_unsloth(base, config, seed=seed, max_prompt_tokens=max_prompt_tokens)
    from tasks.policy.load import load_base, load_tokenizer

    tokenizer = load_tokenizer(base)
    return Trainable(load_base(base, four_bit=config.load_in_4bit), tokenizer, lora_config(config))


def lora_config(config: TrainConfig) -> "LoraConfig":
    """Return the recipe's adapter, on all linear layers, in the words of PEFT."""
    from peft import LoraConfig

    return LoraConfig(
        r=config.lora.rank,
        lora_alpha=config.lora.alpha,
        lora_dropout=0.0,
        target_modules="all-linear",
        bias="none",
        task_type="CAUSAL_LM",
    )


def unsloth_load_arguments(base: Path, config: TrainConfig, *, seed: int, max_prompt_tokens: int) -> dict[str, Any]:
    """Return what `FastLanguageModel.from_pretrained` is told.

    Args:
        base: Folder of the base model.
        config: The recipe.
        seed: Of whatever it draws.
        max_prompt_tokens: The longest prompt, in tokens with the chat template.
    """
    return {
        "model_name": str(base),
        "max_seq_length": max_prompt_tokens + config.max_completion_tokens,
        # The card's best: bfloat16 on an L4.
        "dtype": None,
        "load_in_4bit": config.load_in_4bit,
        "load_in_8bit": False,
        "load_in_16bit": not config.load_in_4bit,
        "full_finetuning": False,
        "trust_remote_code": False,
        # Otherwise it may load a quantized upload of its own in the model's place.
        "use_exact_model_name": True,
        "use_gradient_checkpointing": False,
        "random_state": seed,
        "fast_inference": config.vllm.enabled,
        "gpu_memory_utilization": config.vllm.memory_share,
        "max_lora_rank": config.lora.rank,
    }


def unsloth_adapter_arguments(config: TrainConfig, *, seed: int) -> dict[str, Any]:
    """Return what `FastLanguageModel.get_peft_model` is told beside the model.

    Args:
        config: The recipe.
        seed: Decides the adapter's first weights.
    """
    return {
        "r": config.lora.rank,
        "lora_alpha": config.lora.alpha,
        "lora_dropout": 0.0,
        "target_modules": list(LINEAR_LAYERS),
        "bias": "none",
        "use_rslora": False,
        "use_gradient_checkpointing": False,
        "random_state": seed,
    }


def _load_by_unsloth(base: Path, config: TrainConfig, *, seed: int, max_prompt_tokens: int) -> Trainable:
    fast_language_model = _import_unsloth().FastLanguageModel

    from tasks.policy.load import load_tokenizer, reset_generation_config

    tokenizer = load_tokenizer(base)
    refuse_shared_padding(tokenizer, base)
    arguments = unsloth_load_arguments(base, config, seed=seed, max_prompt_tokens=max_prompt_tokens)
    try:
        model, _ = fast_language_model.from_pretrained(**arguments)
    except (OSError, ValueError) as error:
        raise InputError(
            f"Unsloth can read no model from {base} ({type(error).__name__}); give the folder of a whole downloaded "
            "model that Unsloth knows, or set train.backend='transformers'"
        ) from error
    reset_generation_config(model)
    adapted = fast_language_model.get_peft_model(model, **unsloth_adapter_arguments(config, seed=seed))
    return Trainable(adapted, tokenizer, lora=None)


def _import_unsloth() -> Any:
    import torch

    instead = "or set train.backend='transformers'"
    if not torch.cuda.is_available():
        raise InputError(
            f"train.backend='unsloth' needs a GPU, and there is none; train on a machine with one, {instead}"
        )
    if "tasks.train.trainer" in sys.modules:
        raise AssertionError(
            "tasks.train.trainer was imported before unsloth, which could not replace what it is made of"
        )
    for name, value in UNSLOTH_SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        return importlib.import_module("unsloth")
    except ImportError as error:
        raise InputError(
            f"train.backend='unsloth' needs Unsloth, which {sys.executable} cannot import ({error}); set "
            f"train.interpreter to a Python with constraints/trainer-linux-cuda.txt installed, {instead}"
        ) from error


def refuse_shared_padding(tokenizer: "PreTrainedTokenizerBase", base: Path) -> None:
    """Refuse a tokenizer that pads with the token that ends a turn: Unsloth masks it wherever it stands.

    Raises:
        InputError: The two are the same.
    """
    if tokenizer.pad_token_id == tokenizer.eos_token_id:
        raise InputError(
            f"the tokenizer in {base} pads with {tokenizer.eos_token!r}, which also ends its turns, and Unsloth would "
            "mask it in every prompt; give it another pad_token, or set train.backend='transformers'"
        )


def without_drift(model: "PreTrainedModel", sync: Callable[[], None]) -> Callable[[], None]:
    """Return TRL's `sync_weights` with the base put back afterwards, bit by bit.

    TRL merges the adapter into the base to hand it to vLLM, and subtracts it again. In bfloat16 that does not give back
    what there was, and over a thousand steps the base that is called frozen would wander.

    Args:
        model: The model with its adapter, not quantized.
        sync: TRL's `VLLMGeneration.sync_weights`.
    """
    from peft.tuners.lora import LoraLayer

    weights = [module.get_base_layer().weight for module in model.modules() if isinstance(module, LoraLayer)]
    # On the host: once a step there is time to bring them back, and the card's memory is vLLM's.
    kept = [weight.detach().to("cpu", copy=True) for weight in weights]

    def sync_and_put_back() -> None:
        sync()
        for weight, before in zip(weights, kept, strict=True):
            weight.data.copy_(before)

    return sync_and_put_back
