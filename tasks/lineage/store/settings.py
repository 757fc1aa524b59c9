"""Flattened configuration, as shown by MLflow and compared between models."""

from collections.abc import Mapping
from typing import Any


def dotted(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of nested sections by dotted keys, such as `train.lora.rank`."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            found |= dotted(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found
