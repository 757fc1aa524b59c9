"""Completion-length curriculum: short answers first, which cost less (Skywork-OR1, 2505.22312, 3.2.2)."""

from collections.abc import Sequence


def completion_limit(step: int, stages: Sequence[tuple[int, int]], most: int) -> int:
    """Return the completion token limit of a step; the step alone decides, so there is no state.

    Args:
        step: Finished optimizer steps, from 0.
        stages: The last step of each stage, counted from 1, and its token limit, in rising order.
        most: Token limit after the last stage, and upper bound of every stage.
    """
    return next((min(tokens, most) for until_step, tokens in stages if step < until_step), most)
