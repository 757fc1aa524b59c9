"""Explanations of a configuration's faults: what was meant by an unknown key, and which keys were removed."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_args

from schemas.config.section import Section
from schemas.faults import did_you_mean

REMOVED: Final[Mapping[str, str]] = tomllib.loads(Path(__file__).with_name("removed.toml").read_text(encoding="utf-8"))
"""What is said of keys and names that earlier versions had."""


def explain(failure: Any, section: type[Section]) -> str:
    """Explain one of pydantic's failures of a section."""
    kind, location, value = failure["type"], failure["loc"], failure["input"]
    named = location[-1] if kind == "extra_forbidden" else value
    if kind in {"extra_forbidden", "literal_error"} and isinstance(named, str) and named in REMOVED:
        return REMOVED[named]
    if kind == "extra_forbidden":
        wrong = ".".join(part for part in map(str, location) if not part.isdigit())
        return f"unknown key{did_you_mean(wrong, _dotted_keys(section))}"
    message = str(failure["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
    if kind == "value_error":
        return message
    if kind == "missing":
        return "is not set, and has no default"
    # A rival's section may have the key of its endpoint in the wrong place.
    unsaid = isinstance(value, (dict, list)) or "rivals" in location
    return message if unsaid else f"{message.partition(', unable to ')[0]} (it is {value!r})"


def _dotted_keys(section: type[Section], way: str = "") -> Iterator[str]:
    """Yield every key: the nearest may be in another section."""
    for name, field in section.model_fields.items():
        yield f"{way}{name}"
        for part in (field.annotation, *get_args(field.annotation)):
            if isinstance(part, type) and issubclass(part, Section):
                yield from _dotted_keys(part, f"{way}{name}.")
