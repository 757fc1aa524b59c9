"""Groups of checks, in order, with their needs and time limits."""

from dataclasses import dataclass
from typing import Final

MODELS: Final = ("torch", "transformers")
PROJECT: Final = (*MODELS, "pydantic", "polars", "pandera", "datasets", "peft", "trl")
"""Imports of the trainer's child."""


@dataclass(frozen=True)
class Group:
    """Checks that share a process."""

    module: str
    """Module of this package; its `measure` yields the rows."""
    title: str
    """Shown in the table where the group cannot be measured."""
    seconds: float
    """Time limit."""
    needs: tuple[str, ...] = ()
    """Modules that must be importable."""
    needs_gpu: bool = False
    """Whether a CPU skips it; on one vLLM runs only with parts of it replaced, as `make test-vllm` does."""


GROUPS: Final = (
    Group("environment", "environment", 90),
    Group("training", "training by the real child", 420, PROJECT),
    Group("answers", "answers and merge", 120, PROJECT),
    Group("rollouts", "rollouts by vLLM", 150, (*PROJECT, "vllm"), needs_gpu=True),
    Group("memory", "memory of a step", 75, MODELS),
    Group("adapter", "adapter of NF4 by transformers", 150, (*PROJECT, "bitsandbytes")),
    Group("speed", "sampling by transformers", 60, MODELS),
    Group("rounding", "merging in bfloat16", 45, MODELS),
)
"""In order: without time for all of them, the last are skipped."""
