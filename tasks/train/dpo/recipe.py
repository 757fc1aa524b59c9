"""DPO recipe as TRL arguments. Imports nothing heavy."""

from pathlib import Path
from typing import Any

from schemas.config.train import TrainConfig
from tasks.train.grpo.recipe import optimizer_arguments


def pairs_per_pass(config: TrainConfig) -> int:
    """Return the pairs of one forward pass: two completions each, so memory equals GRPO's."""
    return max(1, config.completions_per_step // config.accumulation // 2)


def dpo_arguments(config: TrainConfig, *, prompts: int, seed: int, work: Path, on_gpu: bool) -> dict[str, Any]:
    """Return the arguments of TRL's `DPOConfig`: all of its own, and those of its parent that a recipe decides.

    Args:
        config: The recipe.
        prompts: Training prompts, an upper bound of the pairs.
        seed: Decides the adapter's initial weights and the order of the pairs.
        work: Folder of the checkpoints.
        on_gpu: Whether there is a GPU.
    """
    return {
        **optimizer_arguments(config, prompts=prompts, seed=seed, work=work, on_gpu=on_gpu),
        "per_device_train_batch_size": pairs_per_pass(config),
        "ignore_data_skip": False,
        "beta": config.preferences.beta,
        "loss_type": ["sigmoid"],
        "loss_weights": None,
        "label_smoothing": 0.0,
        "f_divergence_type": "reverse_kl",
        "use_weighting": False,
        "ld_alpha": None,
        # The base without the adapter is the fixed reference.
        "precompute_ref_log_probs": False,
        "precompute_ref_batch_size": None,
        "sync_ref_model": False,
        "ref_model_mixup_alpha": 0.6,
        "ref_model_sync_steps": 512,
        "disable_dropout": True,
        # Prompts and completions have their own limits; nothing is truncated here.
        "max_length": None,
        "truncation_mode": "keep_start",
        "padding_free": False,
        "pad_to_multiple_of": None,
        "pad_token": None,
        "dataset_num_proc": None,
        "model_init_kwargs": None,
        "trust_remote_code": False,
        "router_aux_loss_coef": None,
        "activation_offloading": False,
        # Of losses that no recipe uses.
        "f_alpha_divergence_coef": 0.5,
        "discopop_tau": 0.05,
    }
