"""Promotion gate: decides whether a tuned model may replace the champion, with reasons.

The margin must be set before the test split is read. A few dozen prompts per task often cannot show non-inferiority by
a small margin: with a standard deviation of .30, a margin of .05 takes 223 prompts. The gate does not bend for that. An
undecided case is held, and the reason states how many prompts would decide it; a user who can accept a larger loss on
one task declares it beforehand, by a larger margin.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from schemas.tasks import TaskName
from tasks.evaluate.number_format import interval, p_value, signed
from tasks.evaluate.stats.sample_size import ALPHA
from tasks.evaluate.stats.statistics import Blocks, PairedStats, holm


@dataclass(frozen=True)
class PromotionGate:
    """The gate's verdict, with its reasons as sentences."""

    verdict: Literal["promote", "hold"]
    """`hold` if anything required was not shown."""
    reasons: tuple[str, ...]
    """Objections to promotion or, without any, the evidence for it."""


def decide(
    scores: Blocks, seed_differences: Mapping[int, float], margin: float, ground_truth: Blocks | None
) -> PromotionGate:
    """Promote only what is shown: better overall and on a task, harmful on none, for every seed, and in ground truth.

    Args:
        scores: The blocks of the rewards.
        seed_differences: Mean difference over all prompts, by training seed.
        margin: The largest acceptable loss, in score: of a task, and overall of the ground truth.
        ground_truth: The blocks of the ground truth, which is no reward; None if unknown.
    """
    objections = [
        *_objections_to_overall(scores.overall),
        *(objection for task, block in scores.tasks.items() for objection in _objections_to_task(task, block, margin)),
        *_objections_to_tasks_together(scores.tasks),
        *_objections_to_seeds(seed_differences),
        *(_objections_to_truth("", ground_truth, margin) if ground_truth else ()),
    ]
    if objections:
        return PromotionGate("hold", tuple(objections))
    merits = [*_merits(scores, len(seed_differences), margin), _merit_of_truth(scores, ground_truth)]
    return PromotionGate("promote", tuple(merits))


def hold_where_worse(
    gate: PromotionGate, against: str, scores: Blocks, ground_truth: Blocks | None, margin: float
) -> PromotionGate:
    """Hold, whatever was decided, a model that may be worse in another comparison than the gate's own.

    It need not be better there: overall, a loss as large as the margin must be excluded, and no task may be shown to be
    worse after Holm's correction; without it, one of six equally good tasks would be found worse one time in four.

    Args:
        gate: The verdict so far.
        against: Name of the other comparison, such as `against the champion`.
        scores: Its blocks of the rewards.
        ground_truth: Its blocks of the ground truth, if known.
        margin: The largest acceptable overall loss, in score.
    """
    objections = [
        *_objections_to_loss(f"{against}, overall", scores.overall, margin),
        *(f"{against}, {task} is worse: {harm}" for task, harm in _harmed(scores.tasks).items()),
        *(_objections_to_truth(f"{against}, ", ground_truth, margin) if ground_truth else ()),
    ]
    if objections:
        kept = gate.reasons if gate.verdict == "hold" else ()
        return PromotionGate("hold", (*kept, *objections))
    if gate.verdict == "hold":
        return gate
    return PromotionGate("promote", (*gate.reasons, f"{against} it is not worse: {_difference(scores.overall)}"))


def _merits(scores: Blocks, n_seeds: int, margin: float) -> list[str]:
    better = ", ".join(task for task, block in scores.tasks.items() if block.verdict == "better")
    merits = [
        f"overall the score rose by {scores.overall.mean_difference:.3f}, {_interval(scores.overall)}",
        f"better after Holm's correction for the number of tasks: {better}",
        f"on every task a loss as large as the margin of {margin:g} is excluded by a one-sided 95 % bound",
        "the gain rests on one training seed" if n_seeds == 1 else f"each of the {n_seeds} training seeds gained",
    ]
    worse = ", ".join(task for task, block in scores.tasks.items() if block.verdict == "worse")
    return [*merits, f"worse, but by less than the margin: {worse}"] if worse else merits


def _merit_of_truth(scores: Blocks, ground_truth: Blocks | None) -> str:
    if ground_truth is None:
        return "the ground truth of the answers is not known: the gain is one of reward only"
    unknown = ", ".join(task for task in scores.tasks if task not in ground_truth.tasks)
    found = f"the ground truth is not worse: {_difference(ground_truth.overall)}"
    return f"{found}; it is not known of {unknown}" if unknown else found


def _objections_to_overall(overall: PairedStats) -> list[str]:
    if overall.ci_low is None or overall.mde is None:
        return ["there is one prompt, which says nothing of others"]
    if overall.n_nonzero == 0:
        return [f"base and tuned score the same on all {overall.n_prompts} prompts"]
    if overall.verdict == "better":
        return []
    if overall.verdict == "worse":
        return [f"overall is worse: {_harm(overall)}"]
    shown = f"{_difference(overall)}, p {p_value(overall.p_signflip)}"
    remedy = f"this many prompts and seeds find a true gain of {overall.mde:.3f} with power .80"
    return [f"improvement overall is not shown: {shown}; {remedy}"]


def _objections_to_task(task: TaskName, block: PairedStats, margin: float) -> list[str]:
    # Harm within the margin is noted beside a merit; harm beyond it, or possibly beyond it, is an objection.
    excluded = block.noninferiority_low is not None and block.noninferiority_low > -margin
    if block.verdict == "worse" and excluded and not _tells_too_little(block):
        return []
    return _objections_to_loss(task, block, margin)


def _objections_to_loss(what: str, block: PairedStats, margin: float) -> list[str]:
    if block.noninferiority_low is None:
        return [f"{what} is undecided: it has one prompt"]
    if _tells_too_little(block):
        shown = f"all {block.n_prompts} prompts have the same difference, {signed(block.mean_difference)}"
        return [f"{what} is undecided: {shown}; to exclude a loss that none of them shows takes {block.n_for_margin}"]
    if block.verdict == "worse":
        return [f"{what} is worse: {_harm(block)}"]
    if block.noninferiority_low > -margin:
        return []
    shown = f"with {block.n_prompts} prompts a loss of {-block.noninferiority_low:.3f} cannot be excluded"
    return [f"{what} is undecided: {shown}, the margin is {margin:g}; {_remedy(block)}"]


def _tells_too_little(block: PairedStats) -> bool:
    """Return whether no prompt differs from another, none gained, and they are too few to exclude a rare loss."""
    without_spread = block.mde == 0 and block.mean_difference <= 0
    return without_spread and block.n_for_margin is not None and block.n_for_margin > block.n_prompts


def _remedy(block: PairedStats) -> str:
    if block.n_for_margin is None:
        return "no number of prompts would show that it is none, since the training seeds differ too much: add seeds"
    if block.n_for_margin <= block.n_prompts:
        return (
            f"so many would show it of equally good models, and the mean difference is {signed(block.mean_difference)}"
        )
    return f"if the models are equally good, about {block.n_for_margin} prompts would show it"


def _objections_to_tasks_together(tasks: Mapping[TaskName, PairedStats]) -> list[str]:
    if any(block.verdict == "better" for block in tasks.values()):
        return []
    nearest = min(tasks, key=lambda task: tasks[task].p_holm)
    shown = f"the nearest to it is {nearest}, p {p_value(tasks[nearest].p_holm)}"
    return [f"no task is better after Holm's correction for the number of tasks; {shown}"]


def _objections_to_seeds(seed_differences: Mapping[int, float]) -> list[str]:
    return [
        f"seed {seed} did not gain: mean difference {signed(difference)}"
        for seed, difference in seed_differences.items()
        if difference <= 0
    ]


def _objections_to_truth(against: str, ground_truth: Blocks, margin: float) -> list[str]:
    """Return objections if the answers are less right than before, whatever their reward: a reward can be hacked."""
    return [
        *_objections_to_loss(f"{against}the ground truth, which is no reward,", ground_truth.overall, margin),
        *(
            f"{against}the ground truth of {task} is worse: {harm}"
            for task, harm in _harmed(ground_truth.tasks).items()
        ),
    ]


def _harmed(tasks: Mapping[TaskName, PairedStats]) -> dict[TaskName, str]:
    """Return the tasks shown to be worse after Holm's correction, each with the numbers that show it."""
    p_harm = holm({task: block.p_harm for task, block in tasks.items()})
    return {task: _harm(replace(tasks[task], p_harm=p)) for task, p in p_harm.items() if p < ALPHA}


def _harm(block: PairedStats) -> str:
    return f"mean difference {signed(block.mean_difference)}, p {p_value(block.p_harm)} for harm"


def _difference(block: PairedStats) -> str:
    return f"mean difference {signed(block.mean_difference)}, {_interval(block)}"


def _interval(block: PairedStats) -> str:
    return f"95 % interval {interval(block.ci_low, block.ci_high)}"
