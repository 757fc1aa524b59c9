"""Estimate of a run before it starts: steps, tokens, time and memory. Imports nothing heavy."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from schemas.config.config import Config
from schemas.config.train import TrainConfig
from schemas.config.workers import price_per_hour
from schemas.errors import InputError
from schemas.tables.dataset_summary import DatasetSummary
from schemas.tables.prompts_summary import PromptsSummary
from schemas.tasks import TaskName
from tasks.lineage.store.artifacts import ArtifactDamaged, ArtifactStore
from tasks.policy.device import CPU
from tasks.train.dpo.recipe import pairs_per_pass
from tasks.train.grpo.recipe import steps_per_epoch
from tasks.train.sizing.decoder_shape import DecoderShape
from tasks.train.sizing.fit import fits, stage_memory, training_memory
from tasks.train.sizing.memory import Memory
from tasks.train.sizing.model_shape import read_shape
from tasks.train.sizing.speed import DEVICE
from tasks.train.sizing.stage_times import (
    SamplerTime,
    StageTime,
    completions_sampled_at_once,
    sampled_lengths,
    sampler_times,
    stage_times,
)

SMALL_DATA_EPOCHS: Final = 1.5
"""Rule of thumb: on small data GRPO is at its best after 1 to 1.5 epochs; then entropy collapses."""


@dataclass(frozen=True)
class PricedStage:
    """Time of a stage, and its price in US dollars."""

    time: StageTime
    on_demand: float | None
    """None if the time is unknown."""
    spot: float | None
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
    """None if the model's shape is unknown on this machine."""
    memory: Memory | None
    """Memory of a training; None without a shape, like the stages."""
    stage_memory: Mapping[str, float] | None
    """Smallest GPU that each stage needs, in bytes."""
    fits: bool | None
    """Whether each fits the recipe's GPU; None if no GPU is named, or no shape is known."""
    stages: tuple[PricedStage, ...] | None
    """Every stage of a whole retraining, in order."""
    by_sampler: tuple[SamplerTime, ...]
    """Time of one training by possible sampler; empty for a stand-in, for DPO, or without a shape."""

    @property
    def seconds(self) -> float | None:
        """Return the time of all stages in sequence; None if one is unknown."""
        return None if self.stages is None else _sum(stage.time.seconds for stage in self.stages)

    @property
    def on_demand(self) -> float | None:
        """Return the price of all stages on demand, in US dollars."""
        return None if self.stages is None else _sum(stage.on_demand for stage in self.stages)

    @property
    def spot(self) -> float | None:
        """Return the price of all stages on Spot machines, in US dollars."""
        return None if self.stages is None else _sum(stage.spot for stage in self.stages)

    @property
    def too_many_epochs(self) -> bool:
        """Return whether the epochs exceed the rule of thumb for GRPO."""
        return self.pairs is None and self.epochs > SMALL_DATA_EPOCHS


def cost_usd(seconds: float, price_per_hour: float) -> float:
    """Return the cost in US dollars of a machine's wall time in seconds, at its price per hour."""
    return seconds / 3600 * price_per_hour


def training_prompts(config: Config, store: ArtifactStore) -> tuple[dict[TaskName, int], str]:
    """Return the training prompts of a run by task, and a description of the source of the numbers.

    The source is the newest dataset in the store that was requested with the same numbers, or else an expectation.
    """
    asked = {task: count for task, count in config.synthesize.counts.items() if count}
    for dataset in store.records("dataset"):
        try:
            made = PromptsSummary.read(store.path(dataset.inputs["prompts"]))
            kept = DatasetSummary.read(store.path(dataset.sha256))
        except (OSError, ValueError, ArtifactDamaged):
            # A run would notice, and make it again.
            continue
        same_source = made.source == config.synthesize.source
        same_split = kept.held_out_share == config.curate.held_out_share
        if same_source and same_split and {task: count for task, count in made.asked.items() if count} == asked:
            prompts = {task: splits["train"] for task, splits in kept.tasks.items() if splits["train"]}
            return prompts, f"dataset {dataset.sha256[:12]} of {dataset.created_at:%Y-%m-%d %H:%M}"
    return expected_prompts(config), "counts less the held-out share"


def expected_prompts(config: Config) -> dict[TaskName, int]:
    """Return the expected training prompts of each task: those synthesized, less the held-out customers' share.

    Duplicates and leakage remove some more, about one in twenty of the simulated store's.
    """
    paraphrase = config.synthesize.paraphrase
    made = 1.0 if paraphrase is None else 1 + paraphrase.share * paraphrase.variants
    kept = 1 - config.curate.held_out_share
    return {task: round(count * made * kept) for task, count in config.synthesize.counts.items() if count}


def estimate_training(config: Config, prompts: Mapping[TaskName, int]) -> Estimate:
    """Estimate the training of a run.

    Args:
        config: The run's configuration.
        prompts: Training prompts, by task.

    Raises:
        InputError: There are no prompts, or the policy's name is a path without a model.
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
    with_prompts = {task: prompts[task] for task in tasks}
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
        memory=None if shape is None else training_memory(config, shape),
        stage_memory=None if shape is None else stage_memory(config, shape),
        fits=None if shape is None or recipe.device_memory_gb is None else fits(config, shape),
        stages=None
        if shape is None
        else tuple(_priced(config, time) for time in stage_times(config, with_prompts, shape)),
        by_sampler=() if shape is None else sampler_times(config, shape),
    )


def _priced(config: Config, time: StageTime) -> PricedStage:
    """Return a stage with its price: its machine's, or the recipe's own where none is set."""
    name = CPU if time.machine == "cpu" else DEVICE
    if time.seconds is None:
        return PricedStage(time, None, None)
    # A machine without a Spot price costs the same either way: a server that is never preempted.
    on_demand, on_spot = (
        price_per_hour(config.workers.prices, name, spot=spot, otherwise=config.train.price_per_hour)
        for spot in (False, True)
    )
    paid = time.seconds * time.cards
    return PricedStage(time, cost_usd(paid, on_demand), cost_usd(paid, on_spot))


def _sum(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def _sampled(config: TrainConfig) -> tuple[int, int]:
    """Return the most completions that a GRPO training samples, and their tokens."""
    limits = sampled_lengths(config)
    at_once = completions_sampled_at_once(config)
    return at_once * len(limits), at_once * sum(limits)
