"""Memory estimate of a training: what a GPU holds at each phase, by shape and recipe.

Imports nothing heavy.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from schemas.config.policy import WarmStartConfig
from schemas.config.train import GradientCheckpointing, TrainConfig
from tasks.policy.merge import ANSWER_TOKENS, CHECK_PROMPTS
from tasks.train.dpo.recipe import pairs_per_pass
from tasks.train.preflight.check import CHECKED_LAYERS
from tasks.train.sizing.activations import FLOAT32_BYTES, PackedSize, kept_bytes, packed_bytes
from tasks.train.sizing.decoder_shape import BFLOAT16_BYTES, DecoderShape

GIGABYTE: Final = 1e9
NF4_BYTES: Final = 0.5 + 4 / 64
"""Bytes of a weight in NF4: half a byte, plus a float32 scale for each block of 64 (QLoRA, 2305.14314, 3)."""
ADAM_BYTES: Final = {"adamw_torch": 2 * FLOAT32_BYTES, "adamw_8bit": 2}
"""Bytes of AdamW's two moments of one weight."""
HEAD_TOKENS, HEAD_ENTRIES = 4_096, 32_768
"""Tile of the logits that TRL's fused head holds at once on a GPU, in tokens and in vocabulary entries."""
LOGIT_COPIES: Final = 4
"""On a CPU all logits are in memory: themselves, their log-softmax, and the two factors of its entropy."""
GUIDED_COPIES: Final = 6
"""With guided rollouts they are whole everywhere, with the masks and the masked ones: 5.3 times measured in float32,
and half a copy more where the model computes them in bfloat16."""
CONTEXT_BYTES: Final = 0.5e9
"""CUDA's context with the kernels of torch and bitsandbytes, outside of all tensors; estimated."""
FRAGMENTATION: Final = 0.05
"""Share that torch's allocator reserves beyond its tensors; estimated."""


@dataclass(frozen=True)
class Memory:
    """Memory of a training in bytes: permanent parts, and parts of one phase each."""

    weights: float
    adapter: float
    """The adapter, its gradients, its optimizer state and, on a GPU, autocast's copy."""
    activations: float
    """Activations that one pass over a part of the step's completions keeps for the backward pass."""
    logits: float
    cache: float
    """Keys and values of all completions sampled at once; 0 where vLLM samples them."""
    validation_cache: float
    """Keys and values of the validation prompts answered at once."""
    preflight_base: float
    """The first layers of a second base, into which the preflight merges."""
    context: float
    """CUDA's own memory."""
    fragmentation: float
    """Share of the tensors that the allocator reserves in addition."""
    vllm_share: float
    """Share of the GPU's memory that vLLM reserves."""
    vllm_sleeps: bool
    """Whether it releases that between its samplings."""

    @property
    def moments(self) -> Mapping[str, float]:
        """Return the bytes in memory at each phase, without vLLM; the parts of different phases never coexist."""
        stays = self.weights + self.adapter
        parts = {
            "update": self.activations + self.logits,
            "sampling": self.cache,
            "validation": self.validation_cache,
            "preflight": self.preflight_base,
        }
        return {name: self.context + (stays + part) * (1 + self.fragmentation) for name, part in parts.items()}

    @property
    def moment(self) -> str:
        """Return the name of the phase with the most in memory."""
        return max(self.moments, key=lambda name: self.moments[name])

    @property
    def peak(self) -> float:
        """Return the most bytes in memory at any phase, without vLLM."""
        return max(self.moments.values())

    @property
    def card(self) -> float:
        """Return the bytes of the smallest GPU that suffices, with vLLM's share."""
        beside = self.moments["sampling"] if self.vllm_sleeps else self.peak
        return max(self.peak, beside / (1 - self.vllm_share))


def memory_of(
    shape: DecoderShape, config: TrainConfig, prompt_tokens: int, *, validated_at_once: int, on_gpu: bool
) -> Memory:
    """Estimate the memory of a training, with every sequence at the maximum length.

    GRPO's update is packed where the trainer packs it; a model that it cannot pack keeps what `train.stock_update`
    keeps. DPO's second forward pass, of the base, keeps nothing for a backward pass, and so takes no more. Unsloth's
    own kernels keep less than is counted.

    Args:
        shape: The base model.
        config: The recipe.
        prompt_tokens: Tokens of the longest prompt.
        validated_at_once: Validation prompts answered at once.
        on_gpu: Whether it computes in bfloat16, and with tiled logits where rollouts are not guided; otherwise in
            float32 with whole ones.
    """
    number = BFLOAT16_BYTES if on_gpu else FLOAT32_BYTES
    sequence = prompt_tokens + config.max_completion_tokens
    is_dpo = config.algorithm == "dpo"
    sequences = 2 * pairs_per_pass(config) if is_dpo else config.completions_per_pass
    # DPO never samples by vLLM.
    with_vllm = config.vllm.enabled and not is_dpo
    scored = sequences * config.max_completion_tokens
    tile = min(scored, HEAD_TOKENS) * min(shape.vocabulary, HEAD_ENTRIES)
    if config.guided != "none":
        in_memory = GUIDED_COPIES * scored * shape.vocabulary
    else:
        in_memory = tile if on_gpu else LOGIT_COPIES * scored * shape.vocabulary
    rank, checkpointing = config.lora.rank, config.gradient_checkpointing
    if config.backend == "transformers" and not (is_dpo or with_vllm or config.stock_update):
        kept = packed_bytes(shape, rank, PackedSize.of_pass(config, prompt_tokens), number, checkpointing)
    else:
        kept = kept_bytes(shape, rank, sequences, sequence, number, checkpointing)
    cached = sequence * cache_bytes(shape, number)
    return Memory(
        weights=weight_bytes(shape, number, four_bit=config.load_in_4bit),
        adapter=adapter_bytes(shape.adapter_parameters(rank), config.optimizer.name, on_gpu=on_gpu),
        activations=kept,
        logits=FLOAT32_BYTES * in_memory,
        cache=0 if with_vllm else config.completions_per_step // config.processes * cached,
        validation_cache=validated_at_once * cached,
        preflight_base=FLOAT32_BYTES * _first_layers(shape),
        context=CONTEXT_BYTES if on_gpu else 0,
        fragmentation=FRAGMENTATION if on_gpu else 0,
        vllm_share=config.vllm.share_of_card if with_vllm else 0,
        vllm_sleeps=config.vllm.sleep,
    )


def warm_start_bytes(shape: DecoderShape, config: WarmStartConfig, sequence: int, *, checkpointing: bool) -> float:
    """Estimate the memory of supervised fine-tuning on a GPU; the adapter is merged on the host.

    Args:
        shape: The base model.
        config: The warm start.
        sequence: Tokens of the longest demonstration with its prompt.
        checkpointing: Whether torch checkpoints gradients.
    """
    sequences = config.batch_size // config.accumulation
    weights = weight_bytes(shape, BFLOAT16_BYTES, four_bit=config.load_in_4bit)
    adapter = adapter_bytes(shape.adapter_parameters(config.lora.rank), "adamw_torch", on_gpu=True)
    by: GradientCheckpointing = "torch" if checkpointing else "none"
    kept = kept_bytes(shape, config.lora.rank, sequences, sequence, BFLOAT16_BYTES, by)
    logits = FLOAT32_BYTES * min(sequences * sequence, HEAD_TOKENS) * min(shape.vocabulary, HEAD_ENTRIES)
    return CONTEXT_BYTES + (weights + adapter + kept + logits) * (1 + FRAGMENTATION)


def answering_bytes(shape: DecoderShape, sequence: int, at_once: int) -> float:
    """Estimate the memory of answering prompts on a GPU: audit sampling and the evaluation.

    Weights are counted in bfloat16, in which the merged model is served and tested; NF4 takes less.

    Args:
        shape: The model.
        sequence: Tokens of the longest prompt with its answer.
        at_once: Prompts answered at once.
    """
    cached = at_once * sequence * cache_bytes(shape, BFLOAT16_BYTES)
    weights = weight_bytes(shape, BFLOAT16_BYTES, four_bit=False)
    return CONTEXT_BYTES + (weights + cached) * (1 + FRAGMENTATION)


def merge_bytes(shape: DecoderShape, prompt_tokens: int) -> float:
    """Estimate the memory of merging a policy into its base on a GPU, in float32, with the verification prompts.

    Args:
        shape: The base model.
        prompt_tokens: Tokens of the longest prompt.
    """
    cached = CHECK_PROMPTS * (prompt_tokens + ANSWER_TOKENS) * cache_bytes(shape, FLOAT32_BYTES)
    weights = weight_bytes(shape, FLOAT32_BYTES, four_bit=False)
    return CONTEXT_BYTES + (weights + cached) * (1 + FRAGMENTATION)


def _first_layers(shape: DecoderShape) -> int:
    few = min(CHECKED_LAYERS, shape.layers)
    return shape.linear_parameters * few // shape.layers + shape.other_parameters


def weight_bytes(shape: DecoderShape, number: int, *, four_bit: bool) -> float:
    """Return the bytes of a model's weights: embeddings and norms are never quantized."""
    return shape.linear_parameters * (NF4_BYTES if four_bit else number) + shape.other_parameters * number


def adapter_bytes(to_train: int, optimizer: str, *, on_gpu: bool) -> float:
    """Return the bytes of a float32 adapter, its gradients and moments, and on a GPU autocast's copy."""
    return to_train * (2 * FLOAT32_BYTES + ADAM_BYTES[optimizer] + (BFLOAT16_BYTES if on_gpu else 0))


def cache_bytes(shape: DecoderShape, number: int) -> int:
    """Return the bytes of the keys and values of one token in all layers."""
    return shape.layers * 2 * shape.key_width * number
