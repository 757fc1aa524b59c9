"""Shapes of decoders, and the GPU memory that each stage needs by shape and recipe. Imports nothing heavy.

Every sequence counts at its maximum length. The preflight's own step measures what is estimated here.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

from schemas.errors import InputError

if TYPE_CHECKING:
    from schemas.config.config import Config
    from schemas.config.train import GradientCheckpointing
    from schemas.config.train_sections import PolicyConfig

Kind = Literal["llama", "qwen2", "qwen3"]
GIGABYTE: Final = 1e9
FLOAT32_BYTES: Final = 4
SMALL: Final = 200_000_000  # Parameters beyond which a training takes hours on two cores.
BFLOAT16_BYTES: Final = 2  # Bytes of a weight as models are published and served.
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
FRAGMENTATION: Final = 0.05  # Share that torch's allocator reserves beyond its tensors; estimated.
REMEDIES: Final = {
    "training": "raise train.accumulation, set train.gradient_checkpointing='torch' ('unsloth' with that backend) or "
    "train.load_in_4bit=true, lower train.max_completion_tokens or train.vllm.memory_share",
    "SFT": "raise warm_start.accumulation, set train.gradient_checkpointing='torch' or warm_start.load_in_4bit=true, "
    "or lower warm_start.batch_size",
    "answering": "lower train.max_completion_tokens or curate.max_prompt_tokens",
    "merging": "lower curate.max_prompt_tokens",
}
"""Settings by which a stage takes less memory, those that cost the least quality first."""


@dataclass(frozen=True)
class DecoderShape:
    """Shape of a Llama-family decoder: gated feed-forward layers, rotary attention, RMS norms."""

    kind: Kind
    """Qwen2 has biases in attention, Qwen3 has norms of queries and keys, Llama has neither."""
    layers: int
    width: int
    """Hidden size."""
    heads: int
    key_value_heads: int
    head_size: int
    feed_forward: int
    vocabulary: int
    tied: bool
    """Whether the output head shares the input embeddings."""

    @property
    def linear_shapes(self) -> tuple[tuple[int, int], ...]:
        """Return (input, output) of a layer's linear maps: queries, keys, values, output; gate, up, down."""
        width, inner = self.width, self.feed_forward
        query, key = self.heads * self.head_size, self.key_value_heads * self.head_size
        return (width, query), (width, key), (width, key), (query, width), *[(width, inner)] * 2, (inner, width)

    @property
    def linear_parameters(self) -> int:
        """Return the parameters that NF4 quantizes and the adapter adapts."""
        return self.layers * sum(taken * given for taken, given in self.linear_shapes)

    @property
    def other_parameters(self) -> int:
        """Return all other parameters: embeddings, norms, biases."""
        embeddings = self.vocabulary * self.width * (1 if self.tied else 2)
        biases = (self.heads + 2 * self.key_value_heads) * self.head_size
        own = {"llama": 0, "qwen2": biases, "qwen3": 2 * self.head_size}[self.kind]
        return embeddings + self.layers * (2 * self.width + own) + self.width

    @property
    def parameters(self) -> int:
        """Return the total parameters."""
        return self.linear_parameters + self.other_parameters

    def adapter_parameters(self, rank: int) -> int:
        """Return the parameters of LoRA on all linear maps (2106.09685): r x (in + out) each."""
        return self.layers * sum(rank * (taken + given) for taken, given in self.linear_shapes)

    def cache_bytes(self, number: int) -> int:
        """Return the bytes of the keys and values of one token in all layers, of `number` bytes each."""
        return self.layers * 2 * self.key_value_heads * self.head_size * number


_TUCANO: Final = {
    "0.5B": DecoderShape("qwen3", 28, 1024, 16, 8, 128, 3072, 49_152, tied=True),
    "1.5B": DecoderShape("qwen3", 28, 2048, 16, 8, 128, 6144, 49_152, tied=True),
    "3.7B": DecoderShape("qwen3", 36, 2560, 32, 8, 128, 9728, 49_152, tied=True),
}
"""Tucano2's sizes (2603.03543), each continually pretrained from a Qwen3 with a vocabulary of 49,152 in place of
151,936: Qwen3-0.6B, 1.7B and 4B, whose published configurations these are."""
KNOWN_SHAPES: Final = {
    f"Polygl0t/Tucano2-qwen-{size}-{variant}": shape
    for size, shape in _TUCANO.items()
    for variant in ("Base", "Instruct", "Think")
}
"""Models whose shape is known without their files."""


def read_shape(policy: "PolicyConfig") -> DecoderShape | None:
    """Return the shape of a policy (stand-in, folder, downloaded or known model), or None.

    InputError where the name is a path without a model, or its config.json cannot be read.
    """
    from tasks.policy.published import shipped  # imports pydantic, which the check of a GPU goes without

    file = shipped() / "config.json" if policy.stand_in else _config_file(policy.name, policy.revision)
    if file is None:
        return KNOWN_SHAPES.get(policy.name)
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        if values["model_type"] not in get_args(Kind):
            return None
        heads, width = values["num_attention_heads"], values["hidden_size"]
        return DecoderShape(
            kind=values["model_type"],
            layers=values["num_hidden_layers"],
            width=width,
            heads=heads,
            key_value_heads=values.get("num_key_value_heads") or heads,
            head_size=values.get("head_dim") or width // heads,
            feed_forward=values["intermediate_size"],
            vocabulary=values["vocab_size"],
            tied=values.get("tie_word_embeddings", False),
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{file} does not describe a model; give the folder of a downloaded one") from None


def _config_file(name: str, revision: str | None) -> Path | None:
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder / "config.json"
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        cached = try_to_load_from_cache(name, "config.json", revision=revision)
    except HFValidationError:
        raise InputError(
            f"policy.name {name!r} is neither a folder nor a hub name; make the profile real's by `make real-model`, "
            "or give the folder of a downloaded model, or a name such as Polygl0t/Tucano2-qwen-0.5B-Instruct"
        ) from None
    return Path(cached) if isinstance(cached, str) else None


def kept_bytes(shape: DecoderShape, tokens: int, checkpointing: "GradientCheckpointing") -> int:
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


def on_cpu(config: "Config", shape: DecoderShape) -> bool:
    """Return whether a recipe that names no GPU trains a model so small that a CPU does it in minutes."""
    recipe = config.train
    asks_none = recipe.device_memory_gb is None and recipe.backend == "transformers" and not recipe.vllm.enabled
    return config.policy.stand_in or (asks_none and shape.parameters <= SMALL)


def stage_memory(config: "Config", shape: DecoderShape) -> dict[str, float]:
    """Return the smallest GPU that each stage needs, in bytes; nothing where a CPU trains.

    A batch of answers that a GPU has no room for is split, down to one sequence.
    """
    from tasks.policy.merge import ANSWER_TOKENS, CHECK_PROMPTS

    if on_cpu(config, shape):
        return {}
    recipe, start = config.train, config.warm_start
    sequence = config.curate.max_prompt_tokens + recipe.max_completion_tokens
    served = weight_bytes(shape, BFLOAT16_BYTES, four_bit=False) + sequence * shape.cache_bytes(BFLOAT16_BYTES)
    stages = {"training": training_bytes(config, shape), "answering": _on_gpu(served)}
    if not recipe.adapter_per_task:
        exact = CHECK_PROMPTS * (config.curate.max_prompt_tokens + ANSWER_TOKENS) * shape.cache_bytes(FLOAT32_BYTES)
        stages["merging"] = _on_gpu(weight_bytes(shape, FLOAT32_BYTES, four_bit=False) + exact)
    if start.steps:
        tokens = start.batch_size // start.accumulation * sequence
        stages["SFT"] = _on_gpu(
            weight_bytes(shape, BFLOAT16_BYTES, four_bit=start.load_in_4bit)
            + adapter_bytes(shape.adapter_parameters(start.lora.rank), "adamw_torch")
            + kept_bytes(shape, tokens, "none" if recipe.gradient_checkpointing == "none" else "torch")
            + _head_bytes(shape, tokens)
        )
    return stages


def training_bytes(config: "Config", shape: DecoderShape) -> float:
    """Return the bytes of the smallest GPU that a training needs, at the fullest of its phases.

    DPO's second forward pass, of the base, keeps nothing for a backward pass, and so takes no more. Unsloth's own
    kernels keep less than is counted.
    """
    from tasks.train.grpo.recipe import pairs_per_pass

    recipe = config.train
    sequence = config.curate.max_prompt_tokens + recipe.max_completion_tokens
    is_dpo = recipe.algorithm == "dpo"
    sequences = 2 * pairs_per_pass(recipe) if is_dpo else recipe.completions_per_pass
    # DPO never samples by vLLM.
    vllm_share = recipe.vllm.memory_share if recipe.vllm.enabled and not is_dpo else 0.0
    scored = sequences * recipe.max_completion_tokens
    whole_logits = GUIDED_COPIES * FLOAT32_BYTES * scored * shape.vocabulary
    cached = 0 if vllm_share else recipe.completions_per_step * sequence * shape.cache_bytes(BFLOAT16_BYTES)
    stays = weight_bytes(shape, BFLOAT16_BYTES, four_bit=recipe.load_in_4bit)
    stays += adapter_bytes(shape.adapter_parameters(recipe.lora.rank), recipe.optimizer.name)
    sampling = _on_gpu(stays + cached)
    kept = kept_bytes(shape, sequences * sequence, recipe.gradient_checkpointing)
    logits = _head_bytes(shape, scored) if recipe.guided == "none" else whole_logits
    peak = max(sampling, _on_gpu(stays + kept + logits))
    beside = sampling if recipe.vllm.sleep else peak
    return max(peak, beside / (1 - vllm_share))


def _on_gpu(tensors: float) -> float:
    return CONTEXT_BYTES + tensors * (1 + FRAGMENTATION)


def _head_bytes(shape: DecoderShape, tokens: int) -> int:
    return FLOAT32_BYTES * min(tokens, HEAD_TOKENS) * min(shape.vocabulary, HEAD_ENTRIES)


def memory_limit(config: "Config") -> float:
    """Return the bytes of the GPU that a stage may take: the share that the preflight allows too."""
    return (config.train.device_memory_gb or 0.0) * GIGABYTE * config.train.preflight.max_memory_share


def fits(config: "Config", shape: DecoderShape) -> bool:
    """Return whether every stage fits the recipe's GPU; True if no GPU is named."""
    largest = max(stage_memory(config, shape).values(), default=0.0)
    return config.train.device_memory_gb is None or largest <= memory_limit(config)


def refuse_unfit(config: "Config") -> None:
    """Refuse a recipe that does not fit its GPU, before anything is downloaded.

    Nothing is compared if no GPU is named, or if the model's shape is unknown on this machine. InputError where a stage
    exceeds its share of the GPU; the message names settings by which it takes less.
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
