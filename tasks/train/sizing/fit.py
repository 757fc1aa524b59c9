"""GPU fit of a recipe, and settings that would make it fit. Imports nothing heavy."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, product
from typing import Any, Final

from pydantic import ValidationError

from schemas.config.config import Config
from schemas.errors import InputError
from tasks.train.sizing.decoder_shape import DecoderShape
from tasks.train.sizing.memory import GIGABYTE, Memory, answering_bytes, memory_of, merge_bytes, warm_start_bytes
from tasks.train.sizing.model_shape import read_shape

WAYS: Final = 3
"""Most alternatives suggested for a recipe that does not fit."""
MOST_CHANGED: Final = 3
"""Most settings changed together where no single one is enough."""

Change = Mapping[str, Any]
"""New values, by dotted setting name."""


def refuse_unfit(config: Config) -> None:
    """Refuse a recipe that does not fit its GPU, before anything is downloaded.

    Nothing is compared if no GPU is named, or if the model's shape is unknown on this machine.

    Raises:
        InputError: A stage exceeds its share of the GPU; the message names settings that would make it fit.
    """
    shape = read_shape(config.policy)
    if shape is None or config.train.device_memory_gb is None or fits(config, shape):
        return
    stages = stage_memory(config, shape)
    largest = max(stages, key=lambda name: stages[name])
    ways = list(ways_to_fit(config, shape))
    remedy = ", or ".join(" and ".join(f"{name}={_value(value)}" for name, value in way.items()) for way in ways)
    raise InputError(
        f"{largest} would take {stages[largest] / GIGABYTE:.1f} GB, and of train.device_memory_gb "
        f"{config.train.device_memory_gb:g} it may take {memory_limit(config) / GIGABYTE:.1f}; "
        + (f"set {remedy}" if ways else "train on a larger GPU, or a smaller model")
    )


def fits(config: Config, shape: DecoderShape) -> bool:
    """Return whether every stage fits the recipe's GPU; True if no GPU is named."""
    return config.train.device_memory_gb is None or max(stage_memory(config, shape).values()) <= memory_limit(config)


def memory_limit(config: Config) -> float:
    """Return the bytes of the GPU that a stage may take: the share that the preflight allows too."""
    gigabytes = config.train.device_memory_gb or 0.0
    return gigabytes * GIGABYTE * config.train.preflight.max_memory_share


def stage_memory(config: Config, shape: DecoderShape) -> dict[str, float]:
    """Return the smallest GPU that each stage needs, in bytes; for a stand-in the training's memory alone."""
    recipe = config.train
    sequence = config.curate.max_prompt_tokens + recipe.max_completion_tokens
    stages = {"training": training_memory(config, shape).card}
    if config.policy.stand_in:
        return stages
    answering = partial(answering_bytes, shape, sequence)
    at_once = _prompts_that_fit(config, config.evaluate.batch_size, answering(1), answering(2) - answering(1))
    stages["answering"] = answering(at_once)
    if not recipe.adapter_per_task:
        stages["merging"] = merge_bytes(shape, config.curate.max_prompt_tokens)
    if config.warm_start.steps:
        checkpointing = recipe.gradient_checkpointing != "none"
        stages["SFT"] = warm_start_bytes(shape, config.warm_start, sequence, checkpointing=checkpointing)
    return stages


def training_memory(config: Config, shape: DecoderShape) -> Memory:
    """Return the memory of a training."""
    memory = partial(memory_of, shape, config.train, config.curate.max_prompt_tokens, on_gpu=not config.policy.stand_in)
    alone, together = (memory(validated_at_once=prompts).moments["validation"] for prompts in (1, 2))
    wanted = min(config.validation_prompts, config.evaluate.batch_size)
    return memory(validated_at_once=_prompts_that_fit(config, wanted, alone, together - alone))


def _prompts_that_fit(config: Config, wanted: int, alone: float, each: float) -> int:
    """Return the prompts answered at once: a batch too large for the machine is split.

    Args:
        config: The run's configuration.
        wanted: Prompts of a batch.
        alone: Bytes with one prompt.
        each: Bytes of each further prompt.
    """
    if config.train.device_memory_gb is None:
        return wanted
    room = memory_limit(config) * (1 - config.train.vllm.share_of_card) - alone
    return max(1, min(wanted, 1 + int(room // each)))


def ways_to_fit(config: Config, shape: DecoderShape) -> Iterator[Change]:
    """Yield up to three changes of a recipe with which it fits, fewest settings first.

    Of each set of settings the smallest change is given, and none that contains another suggestion.
    """
    values = _smaller_values(config)
    found: list[frozenset[str]] = []
    for together in range(1, MOST_CHANGED + 1):
        for names in combinations(values, together):
            if any(way <= set(names) for way in found):
                continue
            places = product(*(range(len(values[name])) for name in names))
            for chosen in sorted(places, key=sum):
                change = {name: values[name][place] for name, place in zip(names, chosen, strict=True)}
                changed = _changed(config, change)
                if changed is not None and fits(changed, shape):
                    found.append(frozenset(names))
                    yield change
                    break
            if len(found) == WAYS:
                return


def _smaller_values(config: Config) -> dict[str, Sequence[Any]]:
    """Return smaller values of memory-relevant settings, those that cost the least quality first."""
    recipe, start = config.train, config.warm_start
    completions = recipe.completions_per_step
    checkpointing = "unsloth" if recipe.backend == "unsloth" else "torch"
    values: dict[str, Sequence[Any]] = {
        "train.accumulation": [n for n in range(recipe.accumulation + 1, completions + 1) if completions % n == 0],
        "train.gradient_checkpointing": [checkpointing] if recipe.gradient_checkpointing == "none" else [],
        "train.load_in_4bit": [] if recipe.load_in_4bit else [True],
        "warm_start.accumulation": [
            n for n in range(start.accumulation + 1, start.batch_size + 1) if start.batch_size % n == 0
        ],
        "warm_start.load_in_4bit": [] if start.load_in_4bit else [True],
        "train.max_completion_tokens": [n for n in (1024, 512, 384, 256, 192, 128) if n < recipe.max_completion_tokens],
        "train.vllm.sleep": [True] if recipe.vllm.share_of_card and not recipe.vllm.sleep else [],
        "curate.max_prompt_tokens": [n for n in (1024, 768, 512, 384, 256) if n < config.curate.max_prompt_tokens],
        "train.prompts_per_step": [n for n in (4, 2, 1) if n < recipe.prompts_per_step],
        "train.vllm.memory_share": [
            share for share in (0.3, 0.25, 0.2) if recipe.vllm.enabled and share < recipe.vllm.memory_share
        ],
    }
    return {name: smaller for name, smaller in values.items() if smaller}


def _changed(config: Config, change: Change) -> Config | None:
    """Return the configuration with new values; None if they contradict others."""
    document = config.model_dump()
    for name, value in change.items():
        *sections, field = name.split(".")
        section = document
        for part in sections:
            section = section[part]
        section[field] = value
    try:
        return Config.model_validate(document)
    except ValidationError:
        return None


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
