"""The promotion gate: whether a tuned model may take the champion's place, and why.

The margin must be set before the test split is read. A few dozen prompts a task often cannot show non-inferiority by a
small margin: with a standard deviation of .30 a margin of .05 takes 223 prompts. The gate does not bend for that. What
is undecided is held, and the reason says how many prompts would decide it; whoever can accept a larger loss of one
task says so beforehand, by a larger margin.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from schemas.tasks import TaskName
from tasks.evaluate.statistics import Block


@dataclass(frozen=True)
class PromotionGate:
    """The gate's word, with its reasons as sentences."""

    verdict: Literal["promote", "hold"]
    """`hold` wherever anything needed was not shown."""
    reasons: tuple[str, ...]
    """What forbids promotion, or, where nothing does, what speaks for it."""


def decide(
    overall: Block, tasks: Mapping[TaskName, Block], seed_differences: Mapping[int, float], margin: float
) -> PromotionGate:
    """Promote only what is shown: better overall and on a task, harmful on none, whatever the seed.

    Args:
        overall: The block over all prompts.
        tasks: The block of each task, after Holm's correction.
        seed_differences: Mean difference over all prompts, by training seed.
        margin: The largest loss of a task that is acceptable, in score.
    """
    objections = [
        *_objections_to_overall(overall),
        *(objection for task, block in tasks.items() for objection in _objections_to_task(task, block, margin)),
        *_objections_to_tasks_together(tasks),
        *_objections_to_seeds(seed_differences),
    ]
    if objections:
        return PromotionGate("hold", tuple(objections))
    return PromotionGate("promote", tuple(_merits(overall, tasks, len(seed_differences), margin)))


def _merits(overall: Block, tasks: Mapping[TaskName, Block], n_seeds: int, margin: float) -> list[str]:
    better = ", ".join(task for task, block in tasks.items() if block.verdict == "better")
    merits = [
        f"overall the score rose by {overall.mean_difference:.3f}, 95 % interval {_interval(overall)}",
        f"better after Holm's correction for the number of tasks: {better}",
        f"on no task is a loss as large as the margin of {margin:g} plausible",
        "the gain rests on one training seed" if n_seeds == 1 else f"each of the {n_seeds} training seeds gained",
    ]
    worse = ", ".join(task for task, block in tasks.items() if block.verdict == "worse")
    return [*merits, f"worse, but by less than the margin: {worse}"] if worse else merits


def _objections_to_overall(overall: Block) -> list[str]:
    if overall.ci_low is None:
        return ["there is one prompt, which tells nothing of others"]
    if overall.n_nonzero == 0:
        return [f"base and tuned score the same on all {overall.n_prompts} prompts"]
    if overall.verdict == "better":
        return []
    shown = f"mean difference {overall.mean_difference:+.3f}, 95 % interval {_interval(overall)}"
    return [f"improvement overall is not shown: {shown}, p {overall.p_signflip:.3f}"]


def _objections_to_task(task: TaskName, block: Block, margin: float) -> list[str]:
    if block.noninferiority_low is None:
        return [f"{task} is undecided: it has one prompt"]
    if block.noninferiority_low > -margin:
        return []
    if block.verdict == "worse":
        return [f"{task} is worse: mean difference {block.mean_difference:+.3f}, p {block.p_harm:.3f} for harm"]
    shown = f"with {block.n_prompts} prompts a loss of {-block.noninferiority_low:.3f} cannot be excluded"
    remedy = f"if the models are equally good, about {block.n_for_margin} prompts would show it"
    return [f"{task} is undecided: {shown}, the margin is {margin:g}; {remedy}"]


def _objections_to_tasks_together(tasks: Mapping[TaskName, Block]) -> list[str]:
    if any(block.verdict == "better" for block in tasks.values()):
        return []
    return ["no task is better after Holm's correction for the number of tasks"]


def _objections_to_seeds(seed_differences: Mapping[int, float]) -> list[str]:
    return [
        f"seed {seed} did not gain: mean difference {difference:+.3f}"
        for seed, difference in seed_differences.items()
        if difference <= 0
    ]


def _interval(block: Block) -> str:
    return f"[{block.ci_low:+.3f}, {block.ci_high:+.3f}]"
