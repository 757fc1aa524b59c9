"""Memory that each stage needs on a GPU, by shape and recipe, and a refusal of recipes that do not fit.

Every sequence counts at its maximum length. Imports nothing heavy; the preflight's own step measures what is estimated
here.
"""

from typing import Final

from schemas.config.config import Config
from schemas.config.train import GradientCheckpointing
from schemas.errors import InputError
from tasks.policy.merge import ANSWER_TOKENS, CHECK_PROMPTS
from tasks.train.dpo.pairs import pairs_per_pass
from tasks.train.preflight.check import CHECKED_LAYERS
from tasks.train.sizing.shape import BFLOAT16_BYTES, SMALL, DecoderShape, read_shape

GIGABYTE: Final = 1e9
FLOAT32_BYTES: Final = 4
NF4_BYTES: Final = 0.5 + 4 / 64
"""Bytes of a weight in NF4: half a byte, plus a float32 scale for each block of 64 (QLoRA, 2305.14314, 3)."""
ADAM_BYTES: Final = {"adamw_torch": 2 * FLOAT32_BYTES, "adamw_8bit": 2}
"""Bytes of AdamW's two moments of one weight."""
KEPT: Final = 70
"""Bytes that a layer keeps of a token for each unit of its width, with an adapter of rank 16 in bfloat16: on a card 68
at 0.5B and 62 at 3.7B (docs/l4.md)."""
HEAD_TOKENS, HEAD_ENTRIES = 4_096, 32_768
"""Tile of the logits that TRL's fused head holds at once, in tokens and in vocabulary entries."""
GUIDED_COPIES: Final = 6
"""Copies of the whole logits with guided rollouts: 5.3 measured in float32, and half a copy more in bfloat16."""
CONTEXT_BYTES: Final = 0.5e9
"""CUDA's context with the kernels of torch and bitsandbytes, outside of all tensors; estimated."""
FRAGMENTATION: Final = 0.05
"""Share that torch's allocator reserves beyond its tensors; estimated."""
REMEDIES: Final = {
    "training": "raise train.accumulation, set train.gradient_checkpointing='torch' ('unsloth' with that backend) or "
    "train.load_in_4bit=true, lower train.max_completion_tokens or train.vllm.memory_share",
    "SFT": "raise warm_start.accumulation, set train.gradient_checkpointing='torch' or warm_start.load_in_4bit=true",
    "answering": "lower train.max_completion_tokens or curate.max_prompt_tokens",
    "merging": "lower curate.max_prompt_tokens",
}
"""Settings by which a stage takes less memory, those that cost the least quality first."""


def kept_bytes(shape: DecoderShape, tokens: int, checkpointing: GradientCheckpointing) -> int:
    """Return the bytes that all layers keep of a pass over so many tokens for the backward pass, at the peak.

    With checkpointing layers keep their inputs, and one layer at a time all else; Unsloth moves the inputs to the host.
    """
    of_layer, inputs = tokens * shape.width * KEPT, tokens * shape.width * BFLOAT16_BYTES
    return {
        "none": shape.layers * of_layer,
        "torch": shape.layers * inputs + of_layer,
        # One layer's inputs are transferred while another's are used.
        "unsloth": 2 * inputs + of_layer,
    }[checkpointing]


def weight_bytes(shape: DecoderShape, number: int, *, four_bit: bool) -> float:
    """Return the bytes of a model's weights, of `number` bytes each: embeddings and norms are never quantized."""
    return shape.linear_parameters * (NF4_BYTES if four_bit else number) + shape.other_parameters * number


def adapter_bytes(to_train: int, optimizer: str) -> float:
    """Return the bytes of a float32 adapter, its gradients and moments, and autocast's copy."""
    return to_train * (2 * FLOAT32_BYTES + ADAM_BYTES[optimizer] + BFLOAT16_BYTES)


def cache_bytes(shape: DecoderShape, number: int) -> int:
    """Return the bytes of the keys and values of one token in all layers."""
    return shape.layers * 2 * shape.key_width * number


def on_cpu(config: Config, shape: DecoderShape) -> bool:
    """Return whether a recipe that names no GPU trains a model so small that a CPU does it in minutes."""
    recipe = config.train
    asks_none = recipe.device_memory_gb is None and recipe.backend == "transformers" and not recipe.vllm.enabled
    return config.policy.stand_in or (asks_none and shape.parameters <= SMALL)


def stage_memory(config: Config, shape: DecoderShape) -> dict[str, float]:
    """Return the smallest GPU that each stage needs, in bytes; nothing where a CPU trains.

    A batch of answers that a GPU has no room for is split, down to one sequence.
    """
    if on_cpu(config, shape):
        return {}
    recipe, start = config.train, config.warm_start
    sequence = config.curate.max_prompt_tokens + recipe.max_completion_tokens
    cached = sequence * cache_bytes(shape, BFLOAT16_BYTES)
    stages = {
        "training": training_bytes(config, shape),
        "answering": _on_gpu(weight_bytes(shape, BFLOAT16_BYTES, four_bit=False) + cached),
    }
    if not recipe.adapter_per_task:
        exact = (config.curate.max_prompt_tokens + ANSWER_TOKENS) * cache_bytes(shape, FLOAT32_BYTES)
        stages["merging"] = _on_gpu(weight_bytes(shape, FLOAT32_BYTES, four_bit=False) + CHECK_PROMPTS * exact)
    if start.steps:
        tokens = start.batch_size // start.accumulation * sequence
        how: GradientCheckpointing = "none" if recipe.gradient_checkpointing == "none" else "torch"
        stages["SFT"] = _on_gpu(
            weight_bytes(shape, BFLOAT16_BYTES, four_bit=start.load_in_4bit)
            + adapter_bytes(shape.adapter_parameters(start.lora.rank), "adamw_torch")
            + kept_bytes(shape, tokens, how)
            + _head_bytes(shape, tokens)
        )
    return stages


def training_bytes(config: Config, shape: DecoderShape) -> float:
    """Return the bytes of the smallest GPU that a training needs, at the fullest of its phases.

    DPO's second forward pass, of the base, keeps nothing for a backward pass, and so takes no more. Unsloth's own
    kernels keep less than is counted.
    """
    recipe = config.train
    sequence = config.curate.max_prompt_tokens + recipe.max_completion_tokens
    is_dpo = recipe.algorithm == "dpo"
    sequences = 2 * pairs_per_pass(recipe) if is_dpo else recipe.completions_per_pass
    # DPO never samples by vLLM.
    vllm_share = 0.0 if is_dpo else recipe.vllm.share_of_card
    scored = sequences * recipe.max_completion_tokens
    whole_logits = GUIDED_COPIES * FLOAT32_BYTES * scored * shape.vocabulary
    cached = 0 if vllm_share else recipe.completions_per_step * sequence * cache_bytes(shape, BFLOAT16_BYTES)
    stays = weight_bytes(shape, BFLOAT16_BYTES, four_bit=recipe.load_in_4bit)
    stays += adapter_bytes(shape.adapter_parameters(recipe.lora.rank), recipe.optimizer.name)
    few = min(CHECKED_LAYERS, shape.layers)
    sampling = _on_gpu(stays + cached)
    peak = max(
        sampling,
        _on_gpu(
            stays
            + kept_bytes(shape, sequences * sequence, recipe.gradient_checkpointing)
            + (_head_bytes(shape, scored) if recipe.guided == "none" else whole_logits)
        ),
        # The first layers of a second base, into which the preflight merges.
        _on_gpu(stays + FLOAT32_BYTES * (shape.linear_parameters * few // shape.layers + shape.other_parameters)),
    )
    beside = sampling if recipe.vllm.sleep else peak
    return max(peak, beside / (1 - vllm_share))


def _on_gpu(tensors: float) -> float:
    return CONTEXT_BYTES + tensors * (1 + FRAGMENTATION)


def _head_bytes(shape: DecoderShape, tokens: int) -> int:
    return FLOAT32_BYTES * min(tokens, HEAD_TOKENS) * min(shape.vocabulary, HEAD_ENTRIES)


def memory_limit(config: Config) -> float:
    """Return the bytes of the GPU that a stage may take: the share that the preflight allows too."""
    return (config.train.device_memory_gb or 0.0) * GIGABYTE * config.train.preflight.max_memory_share


def fits(config: Config, shape: DecoderShape) -> bool:
    """Return whether every stage fits the recipe's GPU; True if no GPU is named."""
    largest = max(stage_memory(config, shape).values(), default=0.0)
    return config.train.device_memory_gb is None or largest <= memory_limit(config)


def refuse_unfit(config: Config) -> None:
    """Refuse a recipe that does not fit its GPU, before anything is downloaded.

    Nothing is compared if no GPU is named, or if the model's shape is unknown on this machine.

    Raises:
        InputError: A stage exceeds its share of the GPU; the message names settings by which it takes less.
    """
    shape = read_shape(config.policy)
    if shape is None or fits(config, shape):
        return
    stages = stage_memory(config, shape)
    largest = max(stages, key=lambda name: stages[name])
    raise InputError(
        f"{largest} would take {stages[largest] / GIGABYTE:.1f} GB, and of train.device_memory_gb "
        f"{config.train.device_memory_gb:g} it may take {memory_limit(config) / GIGABYTE:.1f}; "
        f"{REMEDIES[largest]}, train on a larger GPU, or train a smaller model"
    )
