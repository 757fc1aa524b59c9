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
    overall: Block,
    tasks: Mapping[TaskName, Block],
    seed_differences: Mapping[int, float],
    margin: float,
    ground_truth: tuple[Block, Mapping[TaskName, Block]] | None,
) -> PromotionGate:
    """Promote only what is shown: better overall and on a task, harmful on none, whatever the seed, and in truth too.

    Args:
        overall: The block over all prompts.
        tasks: The block of each task, after Holm's correction.
        seed_differences: Mean difference over all prompts, by training seed.
        margin: The largest loss that is acceptable, in score: of a task, and overall of the ground truth.
        ground_truth: The same blocks of the ground truth, which is no reward; None where it is not known.
    """
    objections = [
        *_objections_to_overall(overall),
        *(objection for task, block in tasks.items() for objection in _objections_to_task(task, block, margin)),
        *_objections_to_tasks_together(tasks),
        *_objections_to_seeds(seed_differences),
        *(_objections_to_truth(*ground_truth, margin) if ground_truth else ()),
    ]
    if objections:
        return PromotionGate("hold", tuple(objections))
    merits = [*_merits(overall, tasks, len(seed_differences), margin), _merit_of_truth(tasks, ground_truth)]
    return PromotionGate("promote", tuple(merits))


def hold_against_champion(
    gate: PromotionGate, overall: Block, tasks: Mapping[TaskName, Block], margin: float
) -> PromotionGate:
    """Hold what may be worse than the registry's champion, though it be better than the base.

    Args:
        gate: The gate's word on the challenger against the base.
        overall: The block over all prompts of the challenger against the champion.
        tasks: The block of each task of the same comparison.
        margin: The largest overall loss that is acceptable, in score.
    """
    objections = [
        *_objections_to_loss("against the champion, overall", overall, margin),
        *(
            f"against the champion, {task} is worse: {_harm(block)}"
            for task, block in tasks.items()
            if block.verdict == "worse"
        ),
    ]
    if objections:
        kept = gate.reasons if gate.verdict == "hold" else ()
        return PromotionGate("hold", (*kept, *objections))
    if gate.verdict == "hold":
        return gate
    merit = f"not worse than the champion: mean difference {overall.mean_difference:+.3f}, {_interval(overall)}"
    return PromotionGate("promote", (*gate.reasons, merit))


def _merits(overall: Block, tasks: Mapping[TaskName, Block], n_seeds: int, margin: float) -> list[str]:
    better = ", ".join(task for task, block in tasks.items() if block.verdict == "better")
    merits = [
        f"overall the score rose by {overall.mean_difference:.3f}, {_interval(overall)}",
        f"better after Holm's correction for the number of tasks: {better}",
        f"on no task is a loss as large as the margin of {margin:g} plausible",
        "the gain rests on one training seed" if n_seeds == 1 else f"each of the {n_seeds} training seeds gained",
    ]
    worse = ", ".join(task for task, block in tasks.items() if block.verdict == "worse")
    return [*merits, f"worse, but by less than the margin: {worse}"] if worse else merits


def _merit_of_truth(
    tasks: Mapping[TaskName, Block], ground_truth: tuple[Block, Mapping[TaskName, Block]] | None
) -> str:
    if ground_truth is None:
        return "the ground truth of the answers is not known: the gain is one of reward only"
    overall, of_tasks = ground_truth
    unknown = ", ".join(task for task in tasks if task not in of_tasks)
    found = f"the ground truth is not worse: mean difference {overall.mean_difference:+.3f}, {_interval(overall)}"
    return f"{found}; it is not known of {unknown}" if unknown else found


def _objections_to_overall(overall: Block) -> list[str]:
    if overall.ci_low is None or overall.mde is None:
        return ["there is one prompt, which tells nothing of others"]
    if overall.n_nonzero == 0:
        return [f"base and tuned score the same on all {overall.n_prompts} prompts"]
    if overall.verdict == "better":
        return []
    if overall.verdict == "worse":
        return [f"overall is worse: {_harm(overall)}"]
    shown = f"mean difference {overall.mean_difference:+.3f}, {_interval(overall)}, p {overall.p_signflip:.3f}"
    remedy = f"this many prompts and seeds find a true gain of {overall.mde:.3f} with power .80"
    return [f"improvement overall is not shown: {shown}; {remedy}"]


def _objections_to_task(task: TaskName, block: Block, margin: float) -> list[str]:
    # Harm within the margin is a merit's footnote; harm beyond it, or that may lie beyond it, is an objection.
    if block.verdict == "worse" and block.noninferiority_low is not None and block.noninferiority_low > -margin:
        return []
    return _objections_to_loss(task, block, margin)


def _objections_to_loss(what: str, block: Block, margin: float) -> list[str]:
    if block.noninferiority_low is None:
        return [f"{what} is undecided: it has one prompt"]
    if block.verdict == "worse":
        return [f"{what} is worse: {_harm(block)}"]
    if block.noninferiority_low > -margin:
        return []
    shown = f"with {block.n_prompts} prompts a loss of {-block.noninferiority_low:.3f} cannot be excluded"
    return [f"{what} is undecided: {shown}, the margin is {margin:g}; {_remedy(block)}"]


def _remedy(block: Block) -> str:
    if block.n_for_margin is None:
        return "no number of prompts would show that it is none, since the training seeds differ too much: add seeds"
    if block.n_for_margin <= block.n_prompts:
        return f"so many would show it of equally good models, and the mean difference is {block.mean_difference:+.3f}"
    return f"if the models are equally good, about {block.n_for_margin} prompts would show it"


def _objections_to_tasks_together(tasks: Mapping[TaskName, Block]) -> list[str]:
    if any(block.verdict == "better" for block in tasks.values()):
        return []
    nearest = min(tasks, key=lambda task: tasks[task].p_holm)
    shown = f"the nearest to it is {nearest}, p {tasks[nearest].p_holm:.3f}"
    return [f"no task is better after Holm's correction for the number of tasks; {shown}"]


def _objections_to_seeds(seed_differences: Mapping[int, float]) -> list[str]:
    return [
        f"seed {seed} did not gain: mean difference {difference:+.3f}"
        for seed, difference in seed_differences.items()
        if difference <= 0
    ]


def _objections_to_truth(overall: Block, tasks: Mapping[TaskName, Block], margin: float) -> list[str]:
    """Object where the answers are not as right as before, whatever their reward: a reward can be hacked."""
    return [
        *_objections_to_loss("the ground truth, which is no reward,", overall, margin),
        *(
            f"the ground truth of {task} is worse: {_harm(block)}"
            for task, block in tasks.items()
            if block.verdict == "worse"
        ),
    ]


def _harm(block: Block) -> str:
    return f"mean difference {block.mean_difference:+.3f}, p {block.p_harm:.3f} for harm"


def _interval(block: Block) -> str:
    return f"95 % interval [{block.ci_low:+.3f}, {block.ci_high:+.3f}]"
