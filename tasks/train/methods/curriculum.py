"""The curriculum on completion length: short answers first, which cost less (Skywork-OR1, 2505.22312, 3.2.2)."""

from collections.abc import Sequence


def completion_limit(step: int, stages: Sequence[tuple[int, int]], most: int) -> int:
    """Return the most tokens that a completion may have at a step; the step alone decides, so there is no state.

    Args:
        step: Optimizer steps that are done, from 0.
        stages: The last step of each stage, counted from 1, and the tokens that it allows, in rising order.
        most: The tokens allowed after the last stage, and at most in any.
    """
    return next((min(tokens, most) for until_step, tokens in stages if step < until_step), most)
