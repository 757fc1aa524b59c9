"""Time estimate of a whole retraining, stage by stage, with the source of each number. Imports nothing heavy."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from schemas.config.config import Config
from schemas.config.evaluate import INSTRUCTIONS
from schemas.config.train import Backend, TrainConfig
from schemas.tasks import TaskName
from tasks.train.grpo.curriculum import completion_limit
from tasks.train.preflight.check import COMPLETIONS_A_PROMPT
from tasks.train.sizing.decoder_shape import DecoderShape
from tasks.train.sizing.speed import (
    MEASURED_RUN,
    SAMPLERS,
    SHORT_ANSWER,
    VLLM_RUN,
    Sampler,
    fine_tuning_seconds,
    hand_over_seconds,
    sampler_of,
    sampling_seconds,
    update_seconds,
)

Mark = Literal["measured", "published", "estimated"]
Machine = Literal["cpu", "gpu"]

UPDATE_SHARE: Final = 0.56
"""Share of a step's time that its update took on the laptop; sampling and rewards took the rest."""
LAPTOP_STEP, LAPTOP_TOKENS, LAPTOP_PARAMETERS = 2.2, 4 * 8 * 128, 5_181_056
"""Seconds of one step of the stand-in on two CPU cores, with a share of loading, preflight and validations, the most
tokens of its completions, and its weights."""
LAPTOP_RUN: Final = "the quickstart's run on two CPU cores"
PROMPTS_A_SECOND, ROWS_A_SECOND = 1_300, 6_000
"""Prompts synthesized and rows curated per second on two CPU cores; docs/benchmarks.md."""
LAPTOP_DEMONSTRATION, LAPTOP_ANSWER = 60.7 / (80 * 16), 6.9 / 240
"""Seconds per demonstration and per test answer of the stand-in, in that run with one child at a time; two at once take
about as long as these one after the other."""
START_UP: Final = 600.0
"""Seconds until a Spot machine works, with downloads of image and model; the assumption of infra/README.md."""
LOADING: Final = 60.0
"""Seconds in which a child imports its libraries and loads a base onto the GPU."""
ON_CPU: Final = 15.0
"""Seconds of the test's statistics and the report, or of a promotion, on two CPU cores."""
MERGE_A_PARAMETER: Final = 100 / 490_799_104
"""Seconds per weight of merging and of verifying the written files, on one CPU core; a GPU takes less."""
BY_TRANSFORMERS: Final = "sampled by transformers, whoever trains"


@dataclass(frozen=True)
class StageTime:
    """Time of one stage."""

    name: str
    machine: Machine
    seconds: float | None
    """None if nothing comparable was measured."""
    mark: Mark
    source: str
    cards: int = 1
    """GPUs that work on it at once, each at its own price."""


@dataclass(frozen=True)
class SamplerTime:
    """Seconds of one training by sampler."""

    sampler: Sampler
    longest: float
    """With every answer at the maximum length."""
    short: float
    """With no answer longer than the reference answers."""
    source: str


def stage_times(config: Config, prompts: Mapping[TaskName, int], shape: DecoderShape) -> tuple[StageTime, ...]:
    """Estimate each stage of a whole retraining without reused artifacts, answers at the maximum length.

    Args:
        config: The run's configuration.
        prompts: Training prompts, by task.
        shape: The base model.
    """
    asked = sum(config.synthesize.counts.values())
    made = asked / PROMPTS_A_SECOND + asked / ROWS_A_SECOND
    on_cpu: Machine = "cpu"
    return (
        StageTime("synthesize, curate", on_cpu, made, "measured", "make bench NAME=curate"),
        *([] if config.policy.stand_in else [_start_up()]),
        *_before_training(config, prompts, shape),
        *_trainings(config, prompts, shape),
        *_after_training(config, prompts, shape),
    )


def sampler_times(config: Config, shape: DecoderShape) -> tuple[SamplerTime, ...]:
    """Estimate one training by each sampler on an L4; empty for a stand-in and for DPO."""
    if config.policy.stand_in or config.train.algorithm == "dpo":
        return ()
    short = min(SHORT_ANSWER, config.train.max_completion_tokens)
    return tuple(
        SamplerTime(
            sampler,
            training_seconds(config, shape, sampler),
            training_seconds(config, shape, sampler, short),
            sampling_source(sampler),
        )
        for sampler in SAMPLERS
    )


def training_seconds(config: Config, shape: DecoderShape, sampler: Sampler, tokens: int | None = None) -> float:
    """Return the seconds of one GRPO training on an L4, with its validations.

    Args:
        config: The run's configuration.
        shape: The base model.
        sampler: Samples its completions; beside vLLM the backend itself answers validation.
        tokens: Tokens of each completion; None for the maximum.
    """
    recipe = config.train
    backend = recipe.backend if sampler == "vllm" else sampler
    seconds = _validations(config) * _answering(config, shape, config.validation_prompts, backend, tokens)
    at_once = completions_sampled_at_once(recipe)
    for limit, times in Counter(sampled_lengths(recipe)).items():
        length = tokens or limit
        updates = recipe.iterations * update_seconds(shape, recipe, length)
        loading = hand_over_seconds(shape) if sampler == "vllm" else 0
        seconds += times * (sampling_seconds(shape, sampler, at_once, length) + updates + loading)
    return seconds


def sampled_lengths(config: TrainConfig) -> list[int]:
    """Return the maximum completion length, in tokens, of each sampling of a GRPO training."""
    stages = [(stage.until_step, stage.max_completion_tokens) for stage in config.curriculum]
    return [
        completion_limit(step, stages, config.max_completion_tokens)
        for step in range(0, config.max_steps, config.iterations)
    ]


def completions_sampled_at_once(config: TrainConfig) -> int:
    """Return the most completions that a GRPO training samples at once: a step's, and dynamic sampling's."""
    return (config.prompts_per_step + config.dynamic_sampling.extra_groups) * config.generations


def _start_up() -> StageTime:
    return StageTime("start-up of the GPU's machine", "gpu", START_UP, "estimated", "image and model are fetched")


def _before_training(config: Config, prompts: Mapping[TaskName, int], shape: DecoderShape) -> list[StageTime]:
    shown = config.warm_start.steps * config.warm_start.batch_size
    if config.policy.stand_in:
        return [StageTime("base", "cpu", shown * LAPTOP_DEMONSTRATION, "measured", LAPTOP_RUN)]
    stages = []
    if shown:
        seconds = LOADING + fine_tuning_seconds(shape, shown)
        stages.append(StageTime("base: SFT", "gpu", seconds, "estimated", "operations, at 10 % of the card's peak"))
    if config.audit.require_human and config.audit.sheet is None:
        drawn = len(prompts) * config.audit.prompts_per_task
        seconds = LOADING + _answering(config, shape, drawn * config.audit.completions_per_prompt, "transformers")
        stages.append(StageTime("audit sampling", "gpu", seconds, "estimated", BY_TRANSFORMERS))
    return stages


def _trainings(config: Config, prompts: Mapping[TaskName, int], shape: DecoderShape) -> list[StageTime]:
    recipe = config.train
    seeds = recipe.seeds or (config.seed,)
    tasks = len(prompts) if recipe.adapter_per_task else 1
    each = f" of each of {tasks} tasks" if tasks > 1 else ""
    if recipe.algorithm == "dpo":
        unmeasured = "no training with DPO was measured"
        return [StageTime(f"train, seed {seed}{each}", "gpu", None, "estimated", unmeasured) for seed in seeds]
    if config.policy.stand_in:
        tokens = sum(sampled_lengths(recipe)) * completions_sampled_at_once(recipe)
        ratio = tokens / LAPTOP_TOKENS * shape.parameters / LAPTOP_PARAMETERS
        seconds = tasks * LAPTOP_STEP * ratio * (1 + UPDATE_SHARE * (recipe.iterations - 1))
        source = f"one step of the stand-in: {LAPTOP_STEP} s on two CPU cores"
        return [StageTime(f"train, seed {seed}{each}", "cpu", seconds, "measured", source) for seed in seeds]
    sampler = sampler_of(recipe)
    completions = recipe.preflight.prompts * COMPLETIONS_A_PROMPT
    count = len(seeds) * tasks
    preflights = count * (LOADING + _answering(config, shape, completions, recipe.backend))
    seconds = tasks * training_seconds(config, shape, sampler)
    mark: Mark = "published" if sampler == "vllm" else "measured" if _is_measured(config) else "estimated"
    name = "preflight" if count == 1 else f"preflight, {count} times"
    return [
        StageTime(name, "gpu", preflights, "estimated", f"loading, {completions} completions"),
        *(
            StageTime(f"train, seed {seed}{each}", "gpu", seconds, mark, sampling_source(sampler), recipe.processes)
            for seed in seeds
        ),
    ]


def _after_training(config: Config, prompts: Mapping[TaskName, int], shape: DecoderShape) -> list[StageTime]:
    tests = sum(config.curate.test_rows(task) for task in prompts) * config.evaluate.samples
    seeds = max(1, len(config.train.seeds))
    models = 1 + seeds + config.evaluate.against_champion
    # Shown beside these: the policy on the NF4 base, and the model before its warm start.
    models += config.train.load_in_4bit + (config.warm_start.steps > 0)
    name = f"answers of {models} models to {tests} test prompts"
    if config.policy.stand_in:
        answers = StageTime(name, "cpu", models * tests * LAPTOP_ANSWER, "measured", LAPTOP_RUN)
    else:
        seconds = models * (LOADING + _answering(config, shape, tests, "transformers"))
        answers = StageTime(name, "gpu", seconds, "estimated", BY_TRANSFORMERS)
    rungs = _rungs(config, sum(prompts.values()), tests, shape)
    merges = 0 if config.train.adapter_per_task else seeds * shape.parameters * MERGE_A_PARAMETER
    machine: Machine = "cpu" if config.policy.stand_in else "gpu"
    merge = StageTime("merge", machine, merges, "estimated", "100 s at 0.5B on one CPU core; less on a GPU")
    promote = StageTime("promote", "cpu", ON_CPU, "estimated", "records, and a copy of the merged model")
    return [
        *([merge] if merges else []),
        answers,
        *_general(config, shape),
        *rungs,
        StageTime("evaluate", "cpu", ON_CPU, "measured", LAPTOP_RUN),
        promote,
    ]


def _general(config: Config, shape: DecoderShape) -> list[StageTime]:
    """Estimate what base and one policy take for the general instructions, after the test split."""
    if config.evaluate.general == "off":
        return []
    name = f"general instructions: {2 * INSTRUCTIONS} answers"
    if config.policy.stand_in:
        return [StageTime(name, "cpu", 2 * INSTRUCTIONS * LAPTOP_ANSWER, "estimated", LAPTOP_RUN)]
    seconds = 2 * _answering(config, shape, INSTRUCTIONS, "transformers")
    return [StageTime(name, "gpu", seconds, "estimated", BY_TRANSFORMERS)]


def _rungs(config: Config, prompts: int, tests: int, shape: DecoderShape) -> list[StageTime]:
    """Estimate what the rungs take: answers to each test prompt, and a fine-tuning."""
    rungs = config.evaluate.rungs
    asked = tests if "base-guided" in rungs else 0
    shown = 0
    if "sft" in rungs:
        tuning = config.evaluate.sft
        shown = tuning.batch_size * tuning.steps(config.train.sampled_completions, prompts)
        asked += tests
    if not asked:
        return []
    name = f"rungs: {asked} answers" + (f", SFT on {shown}" if shown else "")
    if config.policy.stand_in:
        seconds = asked * LAPTOP_ANSWER + shown * LAPTOP_DEMONSTRATION
        return [StageTime(name, "cpu", seconds, "estimated", LAPTOP_RUN)]
    seconds = 2 * LOADING + _answering(config, shape, asked, "transformers") + fine_tuning_seconds(shape, shown)
    return [StageTime(name, "gpu", seconds, "estimated", BY_TRANSFORMERS)]


def sampling_source(sampler: Sampler) -> str:
    """Return the source of a sampler's speed, in words."""
    return {
        "vllm": VLLM_RUN,
        "unsloth": MEASURED_RUN,
        "transformers": f"{MEASURED_RUN}; half as fast as Unsloth, by its notebooks",
    }[sampler]


def _is_measured(config: Config) -> bool:
    """Return whether it is the measured run except for its lengths; any other size is an extrapolation."""
    return config.train.backend == "unsloth" and "0.5B" in config.policy.name


def _validations(config: Config) -> int:
    return 1 + math.ceil(config.train.max_steps / config.train.evaluate_every)


def _answering(config: Config, shape: DecoderShape, prompts: int, backend: Backend, tokens: int | None = None) -> float:
    """Return the seconds in which a backend itself answers the prompts, batch by batch."""
    batches = math.ceil(prompts / config.evaluate.batch_size)
    longest = tokens or config.train.max_completion_tokens
    return batches * sampling_seconds(shape, backend, config.evaluate.batch_size, longest)
