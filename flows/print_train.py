"""What `tucano train` and `tucano evaluate` show: trainings, the recipe as a whole, and what it would take."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flows.console import print_table, say
from tasks.train.estimate import cost_usd

if TYPE_CHECKING:
    from schemas.config import Config
    from schemas.section import Section
    from schemas.train_config import TrainConfig
    from tasks.train.estimate import Estimate, Memory

GIGABYTE = 1e9


def print_trainings(trainings: Sequence[Mapping[str, Any]]) -> None:
    """Print what each seed's training came to, and its validation reward by task before and after."""
    print_table(
        "Trainings",
        ("seed", "steps", "stopped early", "minutes", "US dollars", "policy"),
        [
            (
                str(training["seed"]),
                str(training["steps"]),
                "yes" if training["stopped_early"] else "no",
                "earlier" if training["reused"] else f"{training['seconds'] / 60:.1f}",
                "earlier" if training["reused"] else f"{training['cost_usd']:.2f}",
                training["sha256"][:12],
            )
            for training in trainings
        ],
    )
    print_table(
        "Validation reward, before training and at the chosen step",
        ("seed", "task", "before", "chosen", "difference", "chosen step"),
        [
            (
                str(training["seed"]),
                task,
                f"{rewards['before']:.3f}",
                f"{rewards['chosen']:.3f}",
                f"{rewards['chosen'] - rewards['before']:+.3f}",
                str(rewards["chosen_step"]),
            )
            for training in trainings
            for task, rewards in training["tasks"].items()
        ],
        texts=("task",),
    )


def print_recipe(config: "TrainConfig") -> None:
    """Print every field of a recipe, as a profile would set it."""
    say("\n".join(recipe_lines(config)))


def recipe_lines(config: "TrainConfig") -> Iterator[str]:
    """Write a recipe as TOML, every field set; what has no value is a comment, for TOML has no word for it."""
    return _section_lines("train", config)


def print_estimate(config: "Config", estimate: "Estimate", source: str) -> None:
    """Print what a recipe would take.

    Args:
        config: The run's configuration.
        estimate: What was estimated from it.
        source: Where the number of training prompts is from.
    """
    print_table("Estimate", ("what", "how much", "from"), list(_estimate_rows(config, estimate, source)), ("from",))
    if estimate.too_many_epochs:
        say(
            f"warning: {estimate.epochs:.2f} epochs: on small data the final report's model was at its best after 1 to "
            "1.5, and its entropy collapsed afterwards; lower train.max_steps or make more prompts"
        )


def estimate_document(config: "Config", estimate: "Estimate", source: str) -> dict[str, Any]:
    """Return an estimate as JSON has it: seconds, US dollars and bytes; what cannot be told is null."""
    memory = estimate.memory
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
        "seconds_per_training": estimate.seconds,
        "seconds": None if estimate.hours is None else estimate.hours * 3600,
        "seconds_from": estimate.measured.source,
        "cost_usd": _cost(config, estimate),
        "memory": None if memory is None else {**vars(memory), "peak": memory.peak, "card": memory.card},
    }


def _estimate_rows(config: "Config", estimate: "Estimate", source: str) -> Iterator[tuple[str, str, str]]:
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
    if estimate.hours is None or estimate.seconds is None:
        yield "time", "unknown", _why_unknown(config, estimate)
    else:
        yield "time of a training", _duration(estimate.seconds), _extrapolated(config, estimate)
        yield "trainings", str(estimate.trainings), f"{_duration(estimate.hours * 3600)} one after another"
        yield "US dollars", f"{_cost(config, estimate):.2f}", f"at train.price_per_hour {config.train.price_per_hour:g}"
    if estimate.memory is None:
        yield "memory", "unknown", _why_unknown(config, estimate)
    else:
        yield from _memory_rows(config, estimate.memory)


def _memory_rows(config: "Config", memory: "Memory") -> Iterator[tuple[str, str, str]]:
    parts = {
        "weights": memory.weights,
        "adapter and optimizer": memory.adapter,
        "activations (train.accumulation divides them)": memory.activations,
        "logits": memory.logits,
    }
    cache = f", or a key-value cache of {_size(memory.cache)} in their place" if memory.cache else ""
    yield (
        "memory of a step",
        _size(memory.peak),
        f"at most, with prompts of {config.curate.max_prompt_tokens} tokens: "
        + "  ".join(f"{name} {_size(size)}" for name, size in parts.items())
        + cache,
    )
    if memory.vllm_share:
        yield "memory of the GPU", _size(memory.card), f"with vLLM's share of {memory.vllm_share:.0%}"


def _extrapolated(config: "Config", estimate: "Estimate") -> str:
    recipe, on_gpu = config.train, not config.policy.stand_in
    unlike = [
        *(["vLLM samples faster"] if recipe.vllm.enabled else []),
        *(["transformers is slower than Unsloth"] if recipe.backend == "transformers" and on_gpu else []),
    ]
    text = f"extrapolated by tokens and parameters from {estimate.measured.source}"
    return f"{text}; {' and '.join(unlike)}, which is not counted" if unlike else text


def _why_unknown(config: "Config", estimate: "Estimate") -> str:
    if estimate.shape is None:
        return f"nothing here says how large {config.policy.name} is; it is known once the model was fetched"
    return "no training with DPO was measured; a step takes two forward passes of its pairs, and samples nothing"


def _cost(config: "Config", estimate: "Estimate") -> float | None:
    return None if estimate.hours is None else cost_usd(estimate.hours * 3600, config.train.price_per_hour)


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min"


def _size(size: float) -> str:
    return f"{size / GIGABYTE:.1f} GB" if size >= GIGABYTE else f"{size / 1e6:.0f} MB"


def _section_lines(name: str, section: "Section") -> Iterator[str]:
    inner: dict[str, Section] = {}
    yield f"[{name}]"
    for field in type(section).model_fields:
        value = getattr(section, field)
        if hasattr(value, "model_fields"):
            inner[field] = value
        elif value is None:
            yield f"# {field} is not set"
        else:
            yield f"{field} = {_toml(value)}"
    for field, part in inner.items():
        yield ""
        yield from _section_lines(f"{name}.{field}", part)


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        items = [_toml(item) for item in value]
        if any(hasattr(item, "model_dump") for item in value):
            # A stage a line: several would not fit.
            return "".join(["[\n", *(f"    {item},\n" for item in items), "]"])
        return f"[{', '.join(items)}]"
    if hasattr(value, "model_dump"):
        return f"{{ {', '.join(f'{name} = {_toml(part)}' for name, part in value.model_dump().items())} }}"
    # JSON writes texts, numbers and truth as TOML does.
    return json.dumps(value if isinstance(value, bool | int | float) else str(value), ensure_ascii=False)
