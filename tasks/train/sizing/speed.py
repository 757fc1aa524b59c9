"""L4 speed model: seconds of sampling and of updates, by backend. Imports nothing heavy.

Sampling by transformers and by Unsloth is bound by kernel launches, layer by layer and token by token: its speed comes
from the one measured run, scaled by the number of layers. vLLM's is bound by memory bandwidth, as in a published sweep.
Updates are bound by their floating-point operations.
"""

from typing import Final, Literal

from schemas.config.train import TrainConfig
from tasks.train.sizing.decoder_shape import BFLOAT16_BYTES, KNOWN_SHAPES, DecoderShape
from tasks.train.sizing.memory import cache_bytes

Sampler = Literal["transformers", "unsloth", "vllm"]

DEVICE: Final = "NVIDIA L4"
"""Torch's name of the GPU."""
BANDWIDTH: Final = 300e9
"""Bytes per second of an L4's memory; NVIDIA's data sheet."""
OPERATIONS: Final = 121e12
"""bfloat16 operations per second of an L4's tensor cores, without sparsity; NVIDIA's data sheet."""
UTILIZATION: Final = 0.1
"""Share of these that an update reaches. Estimated: QLoRA of 1.5B on an RTX 4060 reaches some 10 % of its own with 628
tokens per second (2509.12229)."""
PROMPT_TOKENS: Final = 150
"""Average tokens of a prompt: the simulated store's have 290 to 630 characters by task, at some four per token."""
SHORT_ANSWER: Final = 100
"""Upper bound of a reference answer's tokens: the simulated store's longest has 322 characters."""

MEASURED_RUN: Final = "the V4.2 report: 22.6 hours, Unsloth without vLLM"
_RUN_SECONDS, _RUN_STEPS, _RUN_VALIDATIONS = 22.6 * 3600, 1_500, 31
_RUN_SEQUENCES, _RUN_TOKENS = 32, 512
_RUN_SHAPE: Final = KNOWN_SHAPES["Polygl0t/Tucano2-qwen-0.5B-Instruct"]
TRANSFORMERS_TO_UNSLOTH: Final = 2.0
"""Ratio of transformers' sampling time to Unsloth's, as stated in Unsloth's notebooks."""
VLLM_RUN: Final = "a published sweep of vLLM 0.23 on an L4, 3,773 tokens a second at 0.5B (ai.wmx.dev/benchmarks)"
VLLM_BANDWIDTH: Final = 0.65 * BANDWIDTH
"""Bytes per second that vLLM reads: one sequence of that sweep takes 5.1 ms a token, and its weights 0.99 GB."""
VLLM_SEQUENCE: Final = 65e-6
"""Seconds that each sequence adds to one token of all: 7.1 ms for 32 of them, in that sweep."""
VLLM_PREFILL: Final = 46e12
"""Operations per second at which vLLM reads prompts: the rest of that sweep's time."""
HOST_BANDWIDTH: Final = 12e9
"""Bytes per second between host and GPU, over which the base is restored after weights went to vLLM; estimated."""


SAMPLERS: Final[tuple[Sampler, ...]] = ("transformers", "unsloth", "vllm")


def sampler_of(config: TrainConfig) -> Sampler:
    """Return the sampler of a recipe's completions; DPO never samples by vLLM."""
    return "vllm" if config.vllm.enabled and config.algorithm == "grpo" else config.backend


def sampling_seconds(shape: DecoderShape, sampler: Sampler, sequences: int, tokens: int) -> float:
    """Return the seconds that a batch of completions takes on an L4.

    Args:
        shape: The model.
        sampler: The sampler.
        sequences: Completions sampled at once.
        tokens: Tokens of each.
    """
    if sampler == "vllm":
        of_weights = shape.parameters * BFLOAT16_BYTES / VLLM_BANDWIDTH
        read = (PROMPT_TOKENS + tokens / 2) * cache_bytes(shape, BFLOAT16_BYTES)
        prompts = sequences * PROMPT_TOKENS * 2 * shape.parameters / VLLM_PREFILL
        return prompts + tokens * (of_weights + sequences * (read / VLLM_BANDWIDTH + VLLM_SEQUENCE))
    of_layer = LAYER_SECONDS * (TRANSFORMERS_TO_UNSLOTH if sampler == "transformers" else 1)
    return tokens * shape.layers * of_layer


def update_seconds(shape: DecoderShape, config: TrainConfig, tokens: int) -> float:
    """Return the seconds of one optimizer step of GRPO on its completions, on an L4 for each process.

    Args:
        shape: The model.
        config: The recipe.
        tokens: Tokens of each completion.
    """
    # Two per weight forward, two backward, since the weights themselves get no gradient.
    passes = 4 + (2 if config.gradient_checkpointing != "none" else 0)
    # The log-probabilities that ratios are relative to.
    passes += 2 if config.iterations > 1 or sampler_of(config) == "vllm" else 0
    of_each = config.completions_per_step // config.processes
    return _operations(shape, of_each, tokens) * passes / (OPERATIONS * UTILIZATION)


def fine_tuning_seconds(shape: DecoderShape, demonstrations: int) -> float:
    """Return the seconds of supervised fine-tuning on an L4, with checkpointing."""
    return _operations(shape, demonstrations, SHORT_ANSWER) * 6 / (OPERATIONS * UTILIZATION)


def hand_over_seconds(shape: DecoderShape) -> float:
    """Return the seconds to pass a step's weights to vLLM and restore the base."""
    return 2 * shape.parameters * BFLOAT16_BYTES / HOST_BANDWIDTH


def _operations(shape: DecoderShape, sequences: int, tokens: int) -> float:
    return sequences * (PROMPT_TOKENS + tokens) * float(shape.parameters)


LAYER_SECONDS: Final = (
    _RUN_SECONDS - _RUN_STEPS * _operations(_RUN_SHAPE, _RUN_SEQUENCES, _RUN_TOKENS) * 4 / (OPERATIONS * UTILIZATION)
) / ((_RUN_STEPS + _RUN_VALIDATIONS) * _RUN_TOKENS * _RUN_SHAPE.layers)
"""Seconds per layer for one token of all sequences, by Unsloth: the measured run's time minus its updates; 31
validations were sampled too."""
