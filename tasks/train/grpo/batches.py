"""Batches of TRL: parts of the completions that a process learns from in a step."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch


def whole_batch(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a batch as it was before TRL split it into passes."""

    def joined(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [item for part in parts for item in part[name]]
        return torch.cat([part[name] for part in parts]) if torch.is_tensor(value) and value.dim() else value

    return {name: joined(name, value) for name, value in parts[0].items()}


def by_rollout(output: Mapping[str, Any]) -> torch.Tensor:
    """Return one advantage per rollout: the mean over its tokens if they have their own."""
    advantages: torch.Tensor = output["advantages"]
    mask: torch.Tensor = output["completion_mask"] * output.get("tool_mask", 1)
    if advantages.dim() == 1:
        return advantages
    return (advantages * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def before_shuffle(batch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a batch in the order that TRL's shuffle, by torch's next random numbers, turns into that of the batch."""
    with torch.random.fork_rng(devices=[]):
        places = torch.randperm(len(next(value for value in batch.values() if value is not None))).argsort()

    def ordered(value: Any) -> Any:
        if isinstance(value, list):
            return [value[place] for place in places.tolist()]
        return value[places] if torch.is_tensor(value) and value.dim() else value

    return {name: ordered(value) for name, value in batch.items()}
