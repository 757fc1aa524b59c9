"""Baseline of the champion: its mean on the test split, of the reward or of a share, by task, with its error."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Baseline:
    """Mean of one task on the test split."""

    task: str
    mean: float
    """In [0, 1], each prompt counting equally."""
    standard_error: float
    """Of that mean, over other prompts of the same kind (`tasks.monitor.mean_error`): answers to one prompt count as
    one."""
    prompts: int
    """Number of prompts behind it."""
    answers: int
    """Number of answers to them."""
