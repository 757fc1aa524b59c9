"""What the champion promised: its mean reward on the test split, by task, and how well that is known."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Baseline:
    """The mean reward of one task on the test split."""

    task: str
    mean: float
    """Mean reward in [0, 1], each prompt counting alike."""
    standard_error: float
    """Of that mean, over other prompts of the same kind (`tasks.monitor.mean_error`): answers to one prompt count as
    one."""
    prompts: int
    """Prompts that it is known from."""
    answers: int
    """Answers to them."""
