"""Terminal output of `tucano train`: trainings, and the whole recipe."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flows.runtime.console import print_table, show
from schemas.config.section import Section
from schemas.config.train import TrainConfig


def print_trainings(trainings: Sequence[Mapping[str, Any]]) -> None:
    """Print each seed's training, and its validation reward by task before and after."""
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


def print_recipe(config: TrainConfig) -> None:
    """Print every field of a recipe, as a profile would set it."""
    show("\n".join(recipe_lines(config)))


def recipe_lines(config: TrainConfig) -> Iterator[str]:
    """Yield a recipe as TOML lines, every field set; a field without a value is a comment, for TOML has no null."""
    return _section_lines("train", config)


def _section_lines(name: str, section: Section) -> Iterator[str]:
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
            # One stage a line: several would not fit.
            return "".join(["[\n", *(f"    {item},\n" for item in items), "]"])
        return f"[{', '.join(items)}]"
    if hasattr(value, "model_dump"):
        return f"{{ {', '.join(f'{name} = {_toml(part)}' for name, part in value.model_dump().items())} }}"
    # JSON writes strings, numbers and booleans as TOML does.
    return json.dumps(value if isinstance(value, bool | int | float) else str(value), ensure_ascii=False)
