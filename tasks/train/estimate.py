"""What a training will take, told before it starts: steps, tokens, time and memory. Nothing heavy is imported."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from schemas.config import Config, PolicyConfig
from schemas.errors import InputError
from schemas.tasks import TaskName
from schemas.train_config import TrainConfig
from tasks.lineage.artifacts import ArtifactDamaged, ArtifactStore
from tasks.train.curriculum import completion_limit
from tasks.train.dpo_recipe import pairs_per_pass
from tasks.train.recipe import steps_per_epoch

Kind = Literal["llama", "qwen2", "qwen3"]

NF4_BYTES: Final = 0.5 + 4 / 64
"""Bytes of a weight in NF4: half a byte, and a float32 scale for each block of 64 (QLoRA, 2305.14314, 3)."""
FLOAT32_BYTES: Final = 4
BFLOAT16_BYTES: Final = 2
ADAM_BYTES: Final = {"adamw_torch": 2 * FLOAT32_BYTES, "adamw_8bit": 2}
"""Bytes of AdamW's two moments of one weight."""
HEAD_TOKENS, HEAD_ENTRIES = 4_096, 32_768
"""Tile of the logits that TRL's fused head has in memory at once on a GPU, in tokens and in entries of the
vocabulary."""
LOGIT_COPIES: Final = 4
"""On a CPU all logits are in memory: themselves, their log-softmax, and the two factors of its entropy."""
SMALL_DATA_EPOCHS: Final = 1.5
"""The final report's rule of thumb: on small data GRPO is at its best after 1 to 1.5 epochs; then entropy collapses."""


@dataclass(frozen=True)
class DecoderShape:
    """A decoder of Llama's family: gated feed-forward layers, rotary attention, RMS norms."""

    kind: Kind
    """Qwen2 has biases in attention, Qwen3 has norms of queries and keys, Llama has neither."""
    layers: int
    width: int
    """The hidden size."""
    heads: int
    key_value_heads: int
    head_size: int
    feed_forward: int
    vocabulary: int
    tied: bool
    """Whether the input embeddings are the output's too."""

    @property
    def query_width(self) -> int:
        """Return the width of all queries of a token."""
        return self.heads * self.head_size

    @property
    def key_width(self) -> int:
        """Return the width of all keys, or of all values, of a token."""
        return self.key_value_heads * self.head_size

    @property
    def linear_shapes(self) -> tuple[tuple[int, int], ...]:
        """Return what a layer's linear maps take and give: queries, keys, values, output; gate, up, down."""
        width, query, key, inner = self.width, self.query_width, self.key_width, self.feed_forward
        return (width, query), (width, key), (width, key), (query, width), *[(width, inner)] * 2, (inner, width)

    @property
    def linear_parameters(self) -> int:
        """Return the weights that NF4 quantizes, and that the adapter is beside."""
        return self.layers * sum(taken * given for taken, given in self.linear_shapes)

    @property
    def other_parameters(self) -> int:
        """Return all other weights: embeddings, norms, biases."""
        embeddings = self.vocabulary * self.width * (1 if self.tied else 2)
        in_attention = {
            "llama": 0,
            "qwen2": self.query_width + 2 * self.key_width,
            "qwen3": 2 * self.head_size,
        }[self.kind]
        return embeddings + self.layers * (2 * self.width + in_attention) + self.width

    @property
    def parameters(self) -> int:
        """Return all weights."""
        return self.linear_parameters + self.other_parameters

    def adapter_parameters(self, rank: int) -> int:
        """Return the weights of LoRA on all linear maps (2106.09685): r x (in + out) each."""
        return self.layers * sum(rank * (taken + given) for taken, given in self.linear_shapes)


KNOWN_SHAPES: Final = {
    "Polygl0t/Tucano2-qwen-0.5B-Instruct": DecoderShape("qwen3", 28, 1024, 16, 8, 128, 3072, 49_152, tied=True),
}
"""Models whose shape is known without their files. Tucano2's is Qwen3-0.6B's with a vocabulary of its own: with 49,152
entries it has 490,799,104 weights, which is the number on its model card."""


@dataclass(frozen=True)
class Measured:
    """A training whose time was measured; other times are extrapolated from it."""

    seconds: float
    tokens: int
    """Most tokens that its completions could have."""
    parameters: int
    source: str
    """What it was, in words."""


ON_L4: Final = Measured(
    22.6 * 3600, 1_500 * 32 * 512, 490_799_104, "the final report's V4.2: 22.6 hours on an L4, Unsloth without vLLM"
)
UPDATE_SHARE: Final = 0.36
"""Share of a step's time that its update took on the laptop, and sampling and rewards the rest; taken for the L4's too,
on which nobody measured it."""
ON_LAPTOP: Final = Measured(1.7, 4 * 8 * 112, 1_700_000, "one step of the stand-in: 1.7 s on two CPU cores")


@dataclass(frozen=True)
class Memory:
    """What a training step has in memory at its peak, in bytes."""

    weights: float
    adapter: float
    """The adapter, its gradients and its optimizer's state."""
    activations: float
    """What the forward pass of a part of the step's completions keeps for the backward pass."""
    logits: float
    cache: float
    """Keys and values of all completions that are sampled at once; none where vLLM samples them."""
    vllm_share: float
    """Share of the GPU's memory that vLLM takes for itself."""

    @property
    def peak(self) -> float:
        """Return the peak without vLLM: completions are sampled before the forward pass, not during it."""
        return self.weights + self.adapter + max(self.activations + self.logits, self.cache)

    @property
    def card(self) -> float:
        """Return the memory of the smallest GPU that has room for it, with vLLM's share."""
        return self.peak / (1 - self.vllm_share)


@dataclass(frozen=True)
class Estimate:
    """What a recipe comes to. Tokens are the most that can be: every completion as long as is allowed."""

    prompts: Mapping[TaskName, int]
    """Training prompts, by task."""
    trainings: int
    """Trainings in all: one a seed and, where each task has its own adapter, a task."""
    pairs: int | None
    """Pairs of a training with DPO at most, were every prompt to make one; None for GRPO."""
    steps_per_epoch: float
    """By TRL's rule, with DPO at most; where each task has its own adapter, of the task with fewest prompts."""
    epochs: float
    """With DPO at least."""
    learning_rate: float
    completions: int
    """Completions that one training samples at most; DPO samples before its first step only."""
    tokens: int
    """Tokens of these completions, at most."""
    shape: DecoderShape | None
    """None where nothing on this machine says what the model's shape is."""
    measured: Measured
    seconds: float | None
    """Time of one training; None for DPO, of which none was measured, and without a shape."""
    memory: Memory | None

    @property
    def hours(self) -> float | None:
        """Return the hours of all trainings, one after another."""
        return None if self.seconds is None else self.trainings * self.seconds / 3600

    @property
    def too_many_epochs(self) -> bool:
        """Return whether the report's rule of thumb, which is one of GRPO, speaks against so many epochs."""
        return self.pairs is None and self.epochs > SMALL_DATA_EPOCHS


def cost_usd(seconds: float, price_per_hour: float) -> float:
    """Return what a machine costs in US dollars: its price an hour, for its wall time in seconds."""
    return seconds / 3600 * price_per_hour


def read_shape(policy: PolicyConfig) -> DecoderShape | None:
    """Return the shape of a policy: the stand-in's, a folder's, a fetched model's or a known one; or None.

    Raises:
        InputError: The name is a path at which there is no model, or its config.json cannot be read.
    """
    if policy.stand_in:
        size = policy.hidden_size // policy.heads
        return DecoderShape(
            "qwen2", policy.layers, policy.hidden_size, policy.heads, policy.heads, size, policy.feed_forward_size,
            policy.vocabulary_size, tied=True,
        )  # fmt: skip
    file = _config_file(policy.name)
    return KNOWN_SHAPES.get(policy.name) if file is None else _shape_in(file)


def known_prompts(config: Config, store: ArtifactStore) -> tuple[dict[TaskName, int], str]:
    """Return the training prompts of a run by task, and in words where the numbers are from.

    They are those of the newest dataset in the store that was asked for in the same numbers, or else expected ones.
    """
    asked = {task: count for task, count in config.synthesize.counts.items() if count}
    for dataset in store.records("dataset"):
        try:
            made = json.loads((store.path(dataset.inputs["prompts"]) / "summary.json").read_text(encoding="utf-8"))
            kept = json.loads((store.path(dataset.sha256) / "summary.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, ArtifactDamaged):
            # A run would find out, and make it again.
            continue
        same_source = made["source"] == config.synthesize.source
        same_split = kept["held_out_share"] == config.curate.held_out_share
        if same_source and same_split and {task: count for task, count in made["asked"].items() if count} == asked:
            prompts = {task: splits["train"] for task, splits in kept["tasks"].items() if splits["train"]}
            return prompts, f"dataset {dataset.sha256[:12]} of {dataset.created_at:%Y-%m-%d %H:%M}"
    return expected_prompts(config), "counts less the held-out share"


def expected_prompts(config: Config) -> dict[TaskName, int]:
    """Return how many training prompts of each task a run will have: what is made, less the held-out customers' share.

    Duplicates and leakage take some more, about one in twenty of the simulated store's.
    """
    paraphrase = config.synthesize.paraphrase
    made = 1.0 if paraphrase is None else 1 + paraphrase.share * paraphrase.variants
    kept = 1 - config.curate.held_out_share
    return {task: round(count * made * kept) for task, count in config.synthesize.counts.items() if count}


def estimate_training(config: Config, prompts: Mapping[TaskName, int]) -> Estimate:
    """Estimate what the training of a run takes.

    Args:
        config: The run's configuration.
        prompts: Training prompts, by task.

    Raises:
        InputError: There are no prompts, or the policy's name is a path at which there is no model.
    """
    recipe = config.train
    tasks = [task for task, count in prompts.items() if count]
    if not tasks:
        raise InputError(
            "the training split would have no prompts; raise synthesize.counts or lower curate.held_out_share"
        )
    fewest = min(prompts[task] for task in tasks) if recipe.adapter_per_task else sum(prompts.values())
    pairs = min(fewest, recipe.preferences.prompts) if recipe.algorithm == "dpo" else None
    if pairs is None:
        per_epoch = steps_per_epoch(fewest, recipe)
        completions, tokens = _sampled(recipe)
    else:
        per_epoch = pairs / (pairs_per_pass(recipe) * recipe.accumulation)
        completions = pairs * recipe.generations
        tokens = completions * recipe.max_completion_tokens
    shape = read_shape(config.policy)
    measured = ON_LAPTOP if config.policy.stand_in else ON_L4
    return Estimate(
        prompts=dict(prompts),
        trainings=max(1, len(recipe.seeds)) * (len(tasks) if recipe.adapter_per_task else 1),
        pairs=pairs,
        steps_per_epoch=per_epoch,
        epochs=recipe.max_steps / per_epoch,
        learning_rate=recipe.learning_rate_for(fewest),
        completions=completions,
        tokens=tokens,
        shape=shape,
        measured=measured,
        seconds=_seconds(tokens, recipe.iterations, shape.parameters, measured)
        if shape is not None and pairs is None
        else None,
        memory=None
        if shape is None
        else memory_of(shape, recipe, config.curate.max_prompt_tokens, on_gpu=not config.policy.stand_in),
    )


def memory_of(shape: DecoderShape, config: TrainConfig, prompt_tokens: int, *, on_gpu: bool) -> Memory:
    """Estimate the memory of a training step without gradient checkpointing, every sequence at its longest.

    DPO's second forward pass, that of the base, keeps nothing for a backward pass, and so takes no more.

    Args:
        shape: The base model.
        config: The recipe.
        prompt_tokens: Tokens of the longest prompt.
        on_gpu: Whether it computes in bfloat16, and logits in tiles; in float32 and whole where not.
    """
    number = BFLOAT16_BYTES if on_gpu else FLOAT32_BYTES
    sequence = prompt_tokens + config.max_completion_tokens
    is_dpo = config.algorithm == "dpo"
    sequences = 2 * pairs_per_pass(config) if is_dpo else config.completions_per_step // config.accumulation
    # DPO has vLLM sample nothing.
    with_vllm = config.vllm.enabled and not is_dpo
    linear = NF4_BYTES if config.load_in_4bit else number
    to_train = shape.adapter_parameters(config.lora.rank)
    scored = sequences * config.max_completion_tokens
    by_token = shape.layers * activation_bytes(shape, config.lora.rank, sequence, number)
    tile = min(scored, HEAD_TOKENS) * min(shape.vocabulary, HEAD_ENTRIES)
    cached = config.completions_per_step * sequence * shape.layers * 2 * shape.key_width * number
    return Memory(
        weights=shape.linear_parameters * linear + shape.other_parameters * number,
        adapter=to_train * (2 * FLOAT32_BYTES + ADAM_BYTES[config.optimizer.name]),
        activations=sequences * sequence * by_token,
        logits=FLOAT32_BYTES * (tile if on_gpu else LOGIT_COPIES * scored * shape.vocabulary),
        cache=0 if with_vllm else cached,
        vllm_share=config.vllm.memory_share if with_vllm else 0,
    )


def activation_bytes(shape: DecoderShape, rank: int, sequence: int, number: int) -> int:
    """Return the bytes that one layer keeps of one token for the backward pass.

    In the type that is computed in: the inputs of the adapter's maps (the two normed states, the attention's output,
    the feed-forward product), its inner values, what attention keeps (queries, keys and values for every head, a row
    of the mask), and the gate before and after its activation with what it is multiplied by. In float32
    always: the inputs of the norms and their scales, and attention's log-sum.

    Args:
        shape: The base model.
        rank: LoRA's r.
        sequence: Tokens of a sequence.
        number: Bytes of a number in the type that is computed in.
    """
    query, inner = shape.query_width, shape.feed_forward
    to_adapter = 2 * shape.width + query + inner + len(shape.linear_shapes) * rank
    computed = to_adapter + 3 * query + sequence + 3 * inner
    exact = 2 * (shape.width + 1) + shape.heads
    if shape.kind == "qwen3":
        exact += query + shape.key_width + shape.heads + shape.key_value_heads
    return number * computed + FLOAT32_BYTES * exact


def _sampled(config: TrainConfig) -> tuple[int, int]:
    """Return the completions that a training with GRPO samples at most, and their tokens."""
    stages = [(stage.until_step, stage.max_completion_tokens) for stage in config.curriculum]
    limits = [
        completion_limit(step, stages, config.max_completion_tokens)
        for step in range(0, config.max_steps, config.iterations)
    ]
    at_once = (config.prompts_per_step + config.dynamic_sampling.extra_groups) * config.generations
    return at_once * len(limits), at_once * sum(limits)


def _seconds(tokens: int, iterations: int, parameters: int, measured: Measured) -> float:
    updates = 1 + UPDATE_SHARE * (iterations - 1)
    return updates * measured.seconds * (tokens / measured.tokens) * (parameters / measured.parameters)


def _config_file(name: str) -> Path | None:
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder / "config.json"
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        cached = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        raise InputError(
            f"policy.name {name!r} is neither a folder nor a hub name; give the folder of a downloaded model, or a "
            "name such as Polygl0t/Tucano2-qwen-0.5B-Instruct"
        ) from None
    return Path(cached) if isinstance(cached, str) else None


def _shape_in(file: Path) -> DecoderShape | None:
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
            head_size=values.get("head_dim") or math.floor(width / heads),
            feed_forward=values["intermediate_size"],
            vocabulary=values["vocab_size"],
            tied=values.get("tie_word_embeddings", False),
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{file} does not describe a model; give the folder of a downloaded one") from None
