"""Estimate of a run before it starts: steps, tokens, time, money and memory. Imports nothing heavy.

Times are of an L4, with every answer at the maximum length; docs/l4.md says where each figure is from. Sampling by
transformers and by Unsloth is bound by kernel launches, layer by layer and token by token, so its speed is that of the
one measured run, by the number of layers. vLLM's is bound by memory bandwidth. Updates are bound by their operations.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from schemas.config.config import Config
from schemas.config.evaluate import INSTRUCTIONS
from schemas.config.train import TrainConfig
from schemas.config.workers import price_per_hour
from schemas.errors import InputError
from schemas.tasks import TaskName
from tasks.policy.batch import CPU
from tasks.train.grpo.recipe import pairs_per_pass, steps_per_epoch
from tasks.train.preflight.check import COMPLETIONS_A_PROMPT
from tasks.train.sizing.memory import BFLOAT16_BYTES, DecoderShape, fits, on_cpu, read_shape, stage_memory

Sampler = Literal["transformers", "unsloth", "vllm"]
Machine = Literal["cpu", "gpu"]

DEVICE: Final = "NVIDIA L4"  # Torch's name of the GPU.
SMALL_DATA_EPOCHS: Final = 1.5
"""Rule of thumb: on small data GRPO is at its best after 1 to 1.5 epochs; then entropy collapses."""
BANDWIDTH, OPERATIONS = 300e9, 121e12
"""Bytes per second of an L4's memory, and bfloat16 operations per second without sparsity; NVIDIA's data sheet."""
UTILIZATION: Final = 0.1
"""Share of these operations that an update reaches; estimated from a QLoRA of 1.5B (2509.12229)."""
PROMPT_TOKENS, SHORT_ANSWER = 150, 100
"""Average tokens of a prompt, and most tokens of a reference answer, in the simulated store."""
LAUNCHES: Final = 0.0034719780718978186
"""Seconds of a layer and token: the V4.2 report's 22.6 hours of Unsloth without vLLM at 0.5B, less updates, by 1,500
steps and 31 validations of 512 tokens in 28 layers."""
TRANSFORMERS_TO_UNSLOTH: Final = 2.0
"""Ratio of transformers' sampling time to Unsloth's, as stated in Unsloth's notebooks."""
VLLM_BANDWIDTH, VLLM_SEQUENCE, VLLM_PREFILL = 0.65 * BANDWIDTH, 65e-6, 46e12
"""Bytes read per second, seconds that each sequence adds to a token, and operations per second on prompts: a published
sweep of vLLM 0.23 on an L4, 3,773 tokens a second at 0.5B (ai.wmx.dev/benchmarks)."""
HOST_BANDWIDTH: Final = 12e9
"""Bytes per second between host and GPU, over which the base is restored after weights went to vLLM; estimated."""
PROMPTS_A_SECOND, ROWS_A_SECOND = 1_300, 6_000
"""Prompts synthesized and rows curated per second on two CPU cores; docs/benchmarks.md."""
START_UP, LOADING, ON_CPU = 600.0, 60.0, 15.0
"""Seconds until a Spot machine works, of a child's start with a base on the GPU, and of statistics or a promotion."""
MERGE_A_PARAMETER: Final = 100 / 490_799_104
"""Seconds per weight of merging and of verifying the written files, on one CPU core; a GPU takes less."""
DPO_UNKNOWN: Final = "no training with DPO was measured"
CPU_UNKNOWN: Final = "a CPU trains it, in minutes"


@dataclass(frozen=True)
class StageCost:
    """Time and price of a stage; None where nothing comparable was measured."""

    name: str
    machine: Machine
    seconds: float | None
    cost_usd: float | None = None
    """On demand."""
    spot_usd: float | None = None
    """At the on-demand price if no other is known."""


@dataclass(frozen=True)
class Estimate:
    """Estimate of a recipe. Tokens are upper bounds: every completion at the maximum length."""

    prompts: Mapping[TaskName, int]
    """Training prompts, by task."""
    trainings: int
    """Total trainings: one per seed and, with one adapter per task, per task."""
    pairs: int | None
    """Most pairs of a DPO training, one per prompt; None for GRPO."""
    steps_per_epoch: float
    """By TRL's rule; for DPO the most; with one adapter per task, of the task with the fewest prompts."""
    epochs: float
    """For DPO the fewest."""
    learning_rate: float
    completions: int
    """Most completions that one training samples; DPO samples before its first step only."""
    tokens: int
    """Most tokens of these completions."""
    shape: DecoderShape | None
    """None if the model's shape is unknown on this machine; then all below are None too."""
    stage_memory: Mapping[str, float] | None
    """Smallest GPU that each stage needs, in bytes; empty for a stand-in."""
    fits: bool | None
    """Whether each fits the recipe's GPU; None if no GPU is named."""
    stages: tuple[StageCost, ...] | None
    """Every stage of a whole retraining, in order; None too where a CPU trains."""

    def total(self, field: Literal["seconds", "cost_usd", "spot_usd"]) -> float | None:
        """Return a figure over all stages in sequence; None if that of one is unknown."""
        values = [getattr(stage, field) for stage in self.stages or ()]
        return None if not values or None in values else sum(values)

    @property
    def too_many_epochs(self) -> bool:
        """Return whether the epochs exceed the rule of thumb for GRPO."""
        return self.pairs is None and self.epochs > SMALL_DATA_EPOCHS


def cost_usd(seconds: float, price_per_hour: float) -> float:
    """Return the cost in US dollars of a machine's wall time in seconds, at its price per hour."""
    return seconds / 3600 * price_per_hour


def expected_prompts(config: Config) -> dict[TaskName, int]:
    """Return the expected training prompts of each task: those synthesized, less the held-out customers' share.

    Duplicates and leakage remove some more, about one in twenty of the simulated store's.
    """
    kept = 1 - config.curate.held_out_share
    return {task: round(count * kept) for task, count in config.synthesize.counts.items() if count}


def estimate_training(config: Config, prompts: Mapping[TaskName, int]) -> Estimate:
    """Estimate the training of a run.

    InputError where there are no prompts, or the policy's name is a path without a model.
    """
    recipe = config.train
    counts = {task: count for task, count in prompts.items() if count}
    if not counts:
        raise InputError(
            "the training split would have no prompts; raise synthesize.counts or lower curate.held_out_share"
        )
    fewest = min(counts.values()) if recipe.adapter_per_task else sum(counts.values())
    pairs = min(fewest, recipe.preferences.prompts) if recipe.algorithm == "dpo" else None
    if pairs is None:
        per_epoch = steps_per_epoch(fewest, recipe)
        completions = _sampled_at_once(recipe) * _samplings(recipe)
    else:
        per_epoch = pairs / (pairs_per_pass(recipe) * recipe.accumulation)
        completions = pairs * recipe.generations
    shape = read_shape(config.policy)
    return Estimate(
        prompts=dict(prompts),
        trainings=max(1, len(recipe.seeds)) * (len(counts) if recipe.adapter_per_task else 1),
        pairs=pairs,
        steps_per_epoch=per_epoch,
        epochs=recipe.max_steps / per_epoch,
        learning_rate=recipe.learning_rate_for(fewest),
        completions=completions,
        tokens=completions * recipe.max_completion_tokens,
        shape=shape,
        stage_memory=None if shape is None else stage_memory(config, shape),
        fits=None if shape is None or recipe.device_memory_gb is None else fits(config, shape),
        stages=None
        if shape is None or on_cpu(config, shape)
        else tuple(_priced(config, each) for each in _stages(config, counts, shape)),
    )


def _priced(config: Config, stage: StageCost) -> StageCost:
    """Return a stage with its price: its machine's, or the recipe's own where none is set."""
    if stage.seconds is None:
        return stage
    name = CPU if stage.machine == "cpu" else DEVICE
    # A machine without a Spot price costs the same either way: a server that is never preempted.
    on_demand, on_spot = (
        price_per_hour(config.workers.prices, name, spot=spot, otherwise=config.train.price_per_hour)
        for spot in (False, True)
    )
    return replace(stage, cost_usd=cost_usd(stage.seconds, on_demand), spot_usd=cost_usd(stage.seconds, on_spot))


def _stages(config: Config, prompts: Mapping[TaskName, int], shape: DecoderShape) -> Iterator[StageCost]:
    """Yield each stage of a whole retraining without reused artifacts."""
    recipe, evaluate, audit = config.train, config.evaluate, config.audit
    seeds, tasks = recipe.seeds or (config.seed,), len(prompts) if recipe.adapter_per_task else 1

    asked = sum(config.synthesize.counts.values())
    yield StageCost("synthesize, curate", "cpu", asked / PROMPTS_A_SECOND + asked / ROWS_A_SECOND)
    yield StageCost("start-up of the GPU's machine", "gpu", START_UP)
    if shown := config.warm_start.steps * config.warm_start.batch_size:
        yield StageCost("base: SFT", "gpu", LOADING + _tuning(shape, shown))
    if audit.require_human and audit.sheet is None:
        drawn = len(prompts) * audit.prompts_per_task * audit.completions_per_prompt
        yield StageCost("audit sampling", "gpu", LOADING + _answering(config, shape, drawn))

    if recipe.algorithm == "grpo":
        count = len(seeds) * tasks
        checked = _answering(config, shape, recipe.preflight.prompts * COMPLETIONS_A_PROMPT, recipe.backend)
        yield StageCost("preflight" if count == 1 else f"preflight, {count} times", "gpu", count * (LOADING + checked))
    each = f" of each of {tasks} tasks" if tasks > 1 else ""
    of_one = training_seconds(config, shape)
    for seed in seeds:
        yield StageCost(f"train, seed {seed}{each}", "gpu", None if of_one is None else tasks * of_one)

    if not recipe.adapter_per_task:
        yield StageCost("merge", "gpu", len(seeds) * shape.parameters * MERGE_A_PARAMETER)
    tests = sum(config.curate.test_rows(task) for task in prompts) * evaluate.samples
    # Base, policies and champion; beside these the policy on the NF4 base.
    models = 1 + len(seeds) + evaluate.against_champion + recipe.load_in_4bit
    seconds = models * (LOADING + _answering(config, shape, tests))
    yield StageCost(f"answers of {models} models to {tests} test prompts", "gpu", seconds)
    if evaluate.general != "off":
        seconds = 2 * _answering(config, shape, INSTRUCTIONS)
        yield StageCost(f"general instructions: {2 * INSTRUCTIONS} answers", "gpu", seconds)
    if drawn := tests * len(config.rungs):
        trains_rung = "sft" in config.rungs and not config.warm_start.steps
        steps = evaluate.sft.steps(recipe.sampled_completions, sum(prompts.values())) if trains_rung else 0
        shown = evaluate.sft.batch_size * steps
        seconds = 2 * LOADING + _answering(config, shape, drawn) + _tuning(shape, shown)
        yield StageCost(f"rungs: {drawn} answers" + (f", SFT on {shown}" if shown else ""), "gpu", seconds)
    yield StageCost("evaluate", "cpu", ON_CPU)
    yield StageCost("promote", "cpu", ON_CPU)


def _answering(config: Config, shape: DecoderShape, prompts: int, sampler: Sampler = "transformers") -> float:
    """Return the seconds in which prompts are answered, batch by batch."""
    size = config.evaluate.batch_size
    return math.ceil(prompts / size) * sampling_seconds(shape, sampler, size, config.train.max_completion_tokens)


def _tuning(shape: DecoderShape, shown: int) -> float:
    """Return the seconds of supervised fine-tuning on so many demonstrations, with checkpointing."""
    return _operations(shape, shown, SHORT_ANSWER) * 6 / (OPERATIONS * UTILIZATION)


def training_seconds(config: Config, shape: DecoderShape) -> float | None:
    """Return the seconds of one GRPO training with its validations; None for DPO, which nobody has measured."""
    recipe = config.train
    if recipe.algorithm == "dpo":
        return None
    at_once, tokens = _sampled_at_once(recipe), recipe.max_completion_tokens
    sampler: Sampler = "vllm" if recipe.vllm.enabled else recipe.backend
    validations = 1 + math.ceil(recipe.max_steps / recipe.evaluate_every)
    # Beside vLLM the backend itself answers validation.
    seconds = validations * _answering(config, shape, config.validation_prompts, recipe.backend)
    # Weights go to vLLM, and the base is restored.
    handing_over = 2 * shape.parameters * BFLOAT16_BYTES / HOST_BANDWIDTH if sampler == "vllm" else 0
    updates = recipe.iterations * update_seconds(shape, recipe, tokens)
    return seconds + _samplings(recipe) * (sampling_seconds(shape, sampler, at_once, tokens) + updates + handing_over)


def sampling_seconds(
    shape: DecoderShape, sampler: Sampler, sequences: int, tokens: int, prompt_tokens: int = PROMPT_TOKENS
) -> float:
    """Return the seconds that a batch of completions takes on an L4."""
    if sampler == "vllm":
        of_weights = shape.parameters * BFLOAT16_BYTES / VLLM_BANDWIDTH
        read = (prompt_tokens + tokens / 2) * shape.cache_bytes(BFLOAT16_BYTES)
        prompts = sequences * prompt_tokens * 2 * shape.parameters / VLLM_PREFILL
        return prompts + tokens * (of_weights + sequences * (read / VLLM_BANDWIDTH + VLLM_SEQUENCE))
    return tokens * shape.layers * LAUNCHES * (TRANSFORMERS_TO_UNSLOTH if sampler == "transformers" else 1)


def update_seconds(shape: DecoderShape, recipe: TrainConfig, tokens: int) -> float:
    """Return the seconds of one GRPO update on an L4, with completions of so many tokens."""
    # Two per weight forward, two backward, since the weights themselves get no gradient.
    passes = 4 + (2 if recipe.gradient_checkpointing != "none" else 0)
    # The log-probabilities that ratios are relative to.
    passes += 2 if recipe.iterations > 1 or recipe.vllm.enabled else 0
    return _operations(shape, recipe.completions_per_step, tokens) * passes / (OPERATIONS * UTILIZATION)


def _operations(shape: DecoderShape, sequences: int, tokens: int) -> float:
    return sequences * (PROMPT_TOKENS + tokens) * float(shape.parameters)


def _samplings(recipe: TrainConfig) -> int:
    return math.ceil(recipe.max_steps / recipe.iterations)


def _sampled_at_once(recipe: TrainConfig) -> int:
    """Return the most completions that a GRPO training samples at once: a step's, and dynamic sampling's."""
    return (recipe.prompts_per_step + recipe.dynamic_sampling.extra_groups) * recipe.generations
