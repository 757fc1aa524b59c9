"""Recipe as TRL arguments; every configuration field is set here, so that none is left to a library's default.

Imports nothing heavy: the L4's arguments can be read, and tested, on any machine.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from schemas.config.train import TrainConfig


def steps_per_epoch(prompts: int, config: TrainConfig) -> float:
    """Return the steps in which every training prompt is sampled once, by TRL's own rule.

    prompts x generations / (completions per forward pass x accumulation), times the steps on the same completions.
    """
    return prompts * config.generations / (config.completions_per_pass * config.accumulation) * config.iterations


def pairs_per_pass(config: TrainConfig) -> int:
    """Return the pairs of one forward pass: two completions each, so memory equals GRPO's."""
    return max(1, config.completions_per_step // config.accumulation // 2)


def optimizer_arguments(config: TrainConfig, *, prompts: int, seed: int, work: Path, on_gpu: bool) -> dict[str, Any]:
    """Return the arguments common to all TRL trainers: the optimizer, its schedule, the saves."""
    return {
        # None: neither is the cache emptied periodically, nor does the Trainer evaluate. Unsloth has other defaults,
        # also for the evaluation's batch size.
        **dict.fromkeys(("lr_scheduler_kwargs", "tf32", "torch_empty_cache_steps", "eval_accumulation_steps")),
        **dict.fromkeys(("fp16", "full_determinism", "load_best_model_at_end", "push_to_hub"), False),
        "per_device_eval_batch_size": 8,
        "output_dir": str(work),
        "seed": seed,
        "data_seed": seed,
        "max_steps": config.max_steps,
        "per_device_train_batch_size": config.completions_per_pass,
        "gradient_accumulation_steps": config.accumulation,
        "learning_rate": config.learning_rate_for(prompts),
        "lr_scheduler_type": config.schedule,
        "warmup_steps": round(config.warmup_share * config.max_steps),
        "optim": config.optimizer.name,
        "adam_beta1": config.optimizer.beta1,
        "adam_beta2": config.optimizer.beta2,
        "adam_epsilon": config.optimizer.epsilon,
        "weight_decay": config.optimizer.weight_decay,
        "max_grad_norm": config.optimizer.max_grad_norm,
        "bf16": on_gpu,
        "use_cpu": not on_gpu,
        # Unsloth enables it in the model that it loads, and the Trainer's would replace it.
        "gradient_checkpointing": config.gradient_checkpointing != "none" and config.backend == "transformers",
        # Not reentrant: then the output of a frozen embedding needs no gradient of its own.
        "gradient_checkpointing_kwargs": {"use_reentrant": False},
        # The callback requests a save after each step, and decides which are written.
        **dict.fromkeys(("save_strategy", "eval_strategy"), "no"),
        "logging_strategy": "steps",
        "logging_steps": 1,
        "logging_first_step": True,
        # A non-finite loss must be seen, not replaced by an average.
        "logging_nan_inf_filter": False,
        "report_to": "none",
        "disable_tqdm": True,
        "remove_unused_columns": False,
        "dataloader_num_workers": 0,
        "dataloader_pin_memory": on_gpu,
    }


def dpo_arguments(config: TrainConfig, *, prompts: int, seed: int, work: Path, on_gpu: bool) -> dict[str, Any]:
    """Return the arguments of TRL's `DPOConfig` that a recipe decides; all others are TRL's defaults.

    The base without the adapter is the fixed reference. Prompts and completions have their own limits; nothing is
    truncated here.
    """
    off = ("ignore_data_skip", "precompute_ref_log_probs", "sync_ref_model", "padding_free", "trust_remote_code")
    return {
        **optimizer_arguments(config, prompts=prompts, seed=seed, work=work, on_gpu=on_gpu),
        **dict.fromkeys(("max_length", "dataset_num_proc")),
        **dict.fromkeys(off, False),
        "per_device_train_batch_size": pairs_per_pass(config),
        "beta": config.preferences.beta,
        "loss_type": ["sigmoid"],
        "label_smoothing": 0.0,
        "disable_dropout": True,
    }


def grpo_arguments(
    config: TrainConfig,
    *,
    weights: Sequence[float],
    prompts: int,
    max_prompt_tokens: int,
    seed: int,
    work: Path,
    on_gpu: bool,
) -> dict[str, Any]:
    """Return the arguments of TRL's `GRPOConfig`: all of its own, and those of its parent that a recipe decides."""
    return {
        **optimizer_arguments(config, prompts=prompts, seed=seed, work=work, on_gpu=on_gpu),
        **dict.fromkeys(UNSET),
        # Of these, skipping draws no prompt, since the sampler does that; it only restores the random state.
        **dict.fromkeys(OFF, False),
        **OF_OTHER_LOSSES,
        **_vllm(config, max_prompt_tokens),
        "disable_dropout": True,
        "ds3_gather_for_generation": True,
        "num_generations": config.generations,
        "num_generations_eval": config.generations,
        "steps_per_generation": config.accumulation,
        "num_iterations": config.iterations,
        "max_completion_length": config.max_completion_tokens,
        "temperature": config.temperature,
        "top_p": 1.0,
        "top_k": 0,
        "repetition_penalty": 1.0,
        "beta": config.beta,
        "epsilon": config.epsilon_low,
        "epsilon_high": config.epsilon_high,
        "loss_type": config.loss,
        "scale_rewards": config.scale_rewards,
        "multi_objective_aggregation": config.aggregation,
        "reward_weights": list(weights),
        "mask_truncated_completions": config.mask_truncated,
        "importance_sampling_level": "token",
        "top_entropy_quantile": 1.0,
        "entropy_coef": config.entropy.coefficient,
        "use_adaptive_entropy": config.entropy.adaptive,
        "entropy_coef_min": config.entropy.smallest,
        "entropy_coef_max": config.entropy.largest,
        "entropy_coef_delta": config.entropy.step,
        "entropy_target": config.entropy.target,
    }


UNSET: Final = (
    *("model_init_kwargs", "router_aux_loss_coef", "max_tool_calling_iterations", "num_completions_to_print"),
    *("log_completions_hub_repo", "generation_batch_size", "pad_to_multiple_of", "chat_template_kwargs"),
    *("cache_implementation", "transformers_continuous_batching_config", "delta", "off_policy_mask_threshold"),
    # These two leak from a model's own generation configuration into TRL's.
    *("min_p", "generation_kwargs"),
)
OFF: Final = (
    *("ignore_data_skip", "trust_remote_code", "cast_lm_head_to_fp32", "shuffle_dataset", "log_completions"),
    *("log_multimodal", "log_unique_prompts", "use_transformers_continuous_batching", "use_transformers_paged"),
    *("use_bias_correction_kl", "sync_ref_model"),
)
OF_OTHER_LOSSES: Final = {
    "ref_model_mixup_alpha": 0.6,
    "ref_model_sync_steps": 512,
    "sapo_temperature_neg": 1.05,
    "sapo_temperature_pos": 1.0,
    "vespo_k_pos": 2.0,
    "vespo_lambda_pos": 3.0,
    "vespo_k_neg": 3.0,
    "vespo_lambda_neg": 2.0,
}
"""Settings of losses and reference policies that no recipe uses."""


def _vllm(config: TrainConfig, max_prompt_tokens: int) -> dict[str, Any]:
    unset = ("structured_outputs_regex", "server_base_url", "importance_sampling_clip_min", "importance_sampling_cap")
    return {
        **dict.fromkeys(f"vllm_{name}" for name in unset),
        "use_vllm": config.vllm.enabled,
        "vllm_mode": "colocate",
        "vllm_model_impl": "vllm",
        "vllm_enable_sleep_mode": config.vllm.sleep,
        "vllm_server_host": "127.0.0.1",
        "vllm_server_port": 8000,
        "vllm_server_timeout": 240.0,
        "vllm_group_port": 51216,
        "vllm_gpu_memory_utilization": config.vllm.memory_share,
        # The model's own context, 32,768 tokens or more, would have to fit into the cache of one sequence.
        "vllm_max_model_length": max_prompt_tokens + config.max_completion_tokens,
        "vllm_tensor_parallel_size": 1,
        "vllm_importance_sampling_correction": True,
        "vllm_importance_sampling_mode": "token_truncate",
        "vllm_importance_sampling_clip_max": 2.0,
    }
