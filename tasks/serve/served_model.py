"""Model that answers in production, without its weights in memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Decoding:
    """How answers are drawn; top-p and top-k are off."""

    temperature: float
    max_tokens: int
    """Longest answer, in tokens."""


def evaluated_decoding(config: Mapping[str, Any]) -> Decoding:
    """Return the decoding of an evaluation, by the configuration that its artifact recorded."""
    return Decoding(config["evaluate"]["temperature"], config["train"]["max_completion_tokens"])


@dataclass(frozen=True)
class ServedModel:
    """Weights that answer, and how they draw."""

    name: str
    """For people, such as `version 3`."""
    number: str
    """Its number in the registry."""
    version_name: str
    """NAME/VERSION in the registry, as logs name it."""
    weights: Path
    """Folder of the model."""
    policy: Path | None
    """Folder of the policy whose adapters are loaded beside the weights; None where nothing is."""
    decoding: Decoding
    batch_size: int
    """Prompts answered at once."""
    seed: int
    """Decides every sampled token: the same prompt has the same answer."""
    store: Path | None
    """Folder of the store that queries are checked on; None without one."""
