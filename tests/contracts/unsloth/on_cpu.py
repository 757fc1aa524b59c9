"""Unsloth without a GPU: its trainer as it generates it, on a model that transformers and PEFT load.

Unsloth's own kernels need Triton and a card; its trainer, its loss and what it does to a tokenizer do not. Of the
product, three things are left out: the question for a GPU, the loading of a model by Unsloth, and the log-probabilities
that `CpuGRPOTrainer` computes on a CPU, where Unsloth's are to be computed.
"""

import importlib
import os
import sys
from functools import cache
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any

from tasks.train.backend import trainable

SETTINGS = {
    "UNSLOTH_ALLOW_CPU": "1",
    # What Unsloth reads as "no autocast": without it, a recipe that is not in bfloat16 would be trained in float16.
    "UNSLOTH_MIXED_PRECISION": "bfloat16",
}


def use_unsloth_on_cpu() -> None:
    """Let `load_trainable` load by Unsloth in this process, though there is no GPU."""
    os.environ.update(SETTINGS)
    import_unsloth = trainable._import_unsloth

    @cache
    def import_and_generate(work: Path) -> Any:
        import_unsloth(work)
        _generate_trainer()
        return SimpleNamespace(FastLanguageModel=_FastLanguageModel)

    vars(trainable).update(_refuse_without_gpu=lambda: None, _import_unsloth=import_and_generate)


def _generate_trainer() -> None:
    """Put Unsloth's trainer in the place of TRL's, which Unsloth leaves undone where it allows a CPU."""
    # Named here and not imported above: mypy and the tests' own process have no Unsloth.
    importlib.import_module("unsloth.models.rl")._patch_trl_rl_trainers("grpo_trainer")

    import trl

    generated = sys.modules[trl.GRPOTrainer.__module__]
    for module in (generated, importlib.import_module("unsloth_zoo.rl_replacements")):
        vars(module)["device_synchronize"] = lambda *_: None

    from tasks.train.backend.cpu import CpuGRPOTrainer

    del CpuGRPOTrainer._get_per_token_logps_and_entropies


class _FastLanguageModel:
    """Loads as Unsloth's class of this name does, by transformers and PEFT."""

    @staticmethod
    def from_pretrained(*, model_name: str, load_in_4bit: bool, **_: Any) -> tuple[Any, None]:
        from tasks.policy.load import load_base

        return load_base(Path(model_name), four_bit=load_in_4bit), None

    @staticmethod
    def get_peft_model(model: Any, *, random_state: int, use_gradient_checkpointing: Any, **settings: Any) -> Any:
        from peft import LoraConfig

        adapted = put_on_adapter(model, LoraConfig(task_type="CAUSAL_LM", **settings), random_state)
        # What Unsloth gives each model that it loads.
        adapted.for_training = MethodType(lambda self, **_: self.train(), adapted)
        adapted.for_inference = MethodType(lambda self: self.eval(), adapted)
        return adapted


def put_on_adapter(model: Any, lora: Any, seed: int) -> Any:
    """Put a fresh adapter on a model, whose weights the seed alone decides."""
    import torch
    from peft import get_peft_model

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return get_peft_model(model, lora)
