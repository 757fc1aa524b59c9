"""Tables of `tucano train --dry-run`: steps and memory of a recipe, hours and dollars of the whole retraining."""

from collections.abc import Iterable, Iterator
from typing import Any

from flows.runtime.console import print_table, show, warn
from schemas.config.config import Config
from tasks.train.sizing.estimate import Estimate
from tasks.train.sizing.fit import GIGABYTE, memory_limit


def print_answer(config: Config, estimate: Estimate, costs: Iterable[str]) -> None:
    """Print what a retraining costs and can decide, whether it fits, and its steps, each in a sentence.

    Args:
        config: The run's configuration.
        estimate: The estimate.
        costs: Sentences about what a retraining costs.
    """
    for line in costs:
        show(line)
    show(f"memory: {_memory_answer(config, estimate)}")
    show(
        f"one training: {config.train.max_steps:,} steps, {estimate.epochs:.2f} epochs of "
        f"{sum(estimate.prompts.values()):,} prompts, {estimate.completions:,} completions, learning rate "
        f"{estimate.learning_rate:.2g}"
    )
    if estimate.too_many_epochs:
        warn(
            f"{estimate.epochs:.2f} epochs: on small data the V4.2 report's model was at its best after 1 to "
            "1.5, and its entropy collapsed afterwards; lower train.max_steps or make more prompts"
        )


def print_stages(estimate: Estimate) -> None:
    """Print time and money of each stage."""
    if estimate.stages is None:
        return
    rows = [
        (stage.name, stage.machine.upper(), _duration(stage.seconds), _price(stage.cost_usd), _price(stage.spot_usd))
        for stage in estimate.stages
    ]
    rows.append(("in all", "", _duration(estimate.seconds), _price(estimate.on_demand), _price(estimate.spot)))
    title = "The whole retraining, answers as long as allowed"
    print_table(title, ("stage", "on", "time", "$", "$ Spot"), rows, ("stage", "on"))


def print_details(config: Config, estimate: Estimate, source: str) -> None:
    """Print what the estimate is made of.

    Args:
        config: The run's configuration.
        estimate: The estimate.
        source: Source of the number of training prompts.
    """
    print_table("Estimate", ("what", "how much", "from"), list(_estimate_rows(config, estimate, source)), ("from",))


def estimate_document(config: Config, estimate: Estimate, source: str) -> dict[str, Any]:
    """Return an estimate as a JSON document: seconds, US dollars and bytes; unknown values are null."""
    return {
        "prompts": dict(estimate.prompts),
        "prompts_from": source,
        "trainings": estimate.trainings,
        "steps": config.train.max_steps,
        "pairs": estimate.pairs,
        "steps_per_epoch": estimate.steps_per_epoch,
        "epochs": estimate.epochs,
        "too_many_epochs": estimate.too_many_epochs,
        "learning_rate": estimate.learning_rate,
        "completions": estimate.completions,
        "tokens": estimate.tokens,
        "parameters": None if estimate.shape is None else estimate.shape.parameters,
        "stages": None if estimate.stages is None else [vars(stage) for stage in estimate.stages],
        "seconds": estimate.seconds,
        "cost_usd": estimate.on_demand,
        "spot_usd": estimate.spot,
        "memory_by_stage": None if estimate.stage_memory is None else dict(estimate.stage_memory),
        "memory_limit": memory_limit(config) or None,
        "fits": estimate.fits,
    }


def _memory_answer(config: Config, estimate: Estimate) -> str:
    if estimate.stage_memory == {}:
        return "not estimated, for the stand-in trains on a CPU"
    if estimate.stage_memory is None:
        return f"unknown, for nothing here says how large {config.policy.name} is until it was fetched once"
    largest = _size(max(estimate.stage_memory.values()))
    if config.train.device_memory_gb is None:
        return f"{largest} at most; train.device_memory_gb is not set, so that nothing says whether it fits"
    return f"{largest} at most, of {_size(memory_limit(config))} there are: {_fits(estimate)}"


def _fits(estimate: Estimate) -> str:
    return "all fit" if estimate.fits else "not all fit"


def _estimate_rows(config: Config, estimate: Estimate, source: str) -> Iterator[tuple[str, str, str]]:
    by_task = "  ".join(f"{task} {count}" for task, count in estimate.prompts.items())
    yield "training prompts", f"{sum(estimate.prompts.values()):,}", f"{source}: {by_task}"
    of_smallest = ", of the task with fewest prompts" if config.train.adapter_per_task else ""
    when, most, least = "of one training, at most", "", ""
    if estimate.pairs is not None:
        when, most, least = "of one training, all before its first step", ", at most", ", at least"
        yield "pairs", f"{estimate.pairs:,}", f"at most, were every prompt that is answered to make one{of_smallest}"
    yield "steps an epoch", f"{estimate.steps_per_epoch:,.1f}", f"TRL's rule{most}{of_smallest}"
    yield "epochs", f"{estimate.epochs:.2f}", f"{config.train.max_steps:,} steps, which win over epochs{least}"
    yield "learning rate", f"{estimate.learning_rate:.2g}", f"by the number of prompts{of_smallest}"
    yield "completions", f"{estimate.completions:,}", when
    yield "completion tokens", f"{estimate.tokens:,}", "were every completion as long as is allowed"
    if estimate.shape is None or estimate.stage_memory is None:
        unknown = f"nothing here says how large {config.policy.name} is; it is known once the model was fetched"
        yield "time", "unknown", unknown
        yield "memory", "unknown", unknown
        return
    yield "weights", f"{estimate.shape.parameters:,}", f"of {_model(config)}"
    for stage, size in estimate.stage_memory.items():
        yield f"memory of {stage}", _size(size), "weights, what is kept and cached, CUDA, 5 % fragmentation"
    if config.train.device_memory_gb is not None:
        share = f"{config.train.preflight.max_memory_share:.0%} of train.device_memory_gb"
        where = f"{share} {config.train.device_memory_gb:g}: {_fits(estimate)}"
        yield "memory there is", _size(memory_limit(config)), where


def _model(config: Config) -> str:
    return "the stand-in" if config.policy.stand_in else config.policy.name


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min"


def _price(dollars: float | None) -> str:
    return "-" if dollars is None else f"{dollars:.2f}"


def _size(size: float) -> str:
    return f"{size / GIGABYTE:.1f} GB" if size >= GIGABYTE else f"{size / 1e6:.0f} MB"
