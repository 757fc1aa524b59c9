"""Promotion gate: decides whether a tuned model may replace the champion, with reasons.

The margin must be set before the test split is read. A few dozen prompts per task often cannot show non-inferiority by
a small margin: with a standard deviation of .30, a margin of .05 takes 223 prompts. The gate does not bend for that. An
undecided case is held, and the reason states how many prompts would decide it; a user who can accept a larger loss on
one task declares it beforehand, by a larger margin.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, Literal

from schemas.tasks import TaskName
from tasks.evaluate.claims import TaskClaim, judged, not_learned
from tasks.evaluate.stats.statistics import Blocks, PairedStats, holm
from tasks.evaluate.stats.variance import ALPHA
from tasks.report.number_format import decimal, interval, p_value, shortest, signed
from tasks.report.wording import worded

NO_GAIN: Final = ("no better", "collapsed", "below floor")
"""Verdicts of tasks whose gain, if any, does not count."""
NO_CLAIMS: Final[Mapping[TaskName, TaskClaim]] = MappingProxyType({})


@dataclass(frozen=True)
class PromotionGate:
    """The gate's verdict, with its reasons as sentences in three lists."""

    verdict: Literal["promote", "hold"]
    """`hold` if anything required was not shown."""
    speaks_for: tuple[str, ...] = ()
    speaks_against: tuple[str, ...] = ()
    """Each objection, if it is held, and what decides nothing though it speaks against the model."""
    good_to_know: tuple[str, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return the lists as one; a held model's lacks what speaks for it."""
        merits = self.speaks_for if self.verdict == "promote" else ()
        return (*merits, *self.speaks_against, *self.good_to_know)

    def held(self, *objections: str) -> "PromotionGate":
        """Return a gate that holds, whatever was decided."""
        return replace(self.adding(against=objections), verdict="hold")

    def adding(
        self, merits: Iterable[str] = (), against: Iterable[str] = (), known: Iterable[str] = ()
    ) -> "PromotionGate":
        """Return the same verdict with further sentences in each list."""
        return PromotionGate(
            self.verdict,
            (*self.speaks_for, *merits),
            (*self.speaks_against, *against),
            (*self.good_to_know, *known),
        )

    def report(self) -> dict[str, Any]:
        """Return its part of `report.json`."""
        lists = {"for": self.speaks_for, "against": self.speaks_against, "good_to_know": self.good_to_know}
        return {
            "verdict": self.verdict,
            "reasons": list(self.reasons),
            **{name: [*each] for name, each in lists.items()},
        }


def reason_lines(gate: Mapping[str, Any]) -> Iterator[str]:
    """Yield the verdict, and the three lists, as `report.json` has them, each under its heading."""
    yield worded("the gate says {verdict}", verdict=worded(gate["verdict"]))
    titles = worded("What speaks for it"), worded("What speaks against it"), worded("Good to know")
    for title, name in zip(titles, ("for", "against", "good_to_know"), strict=True):
        if gate[name]:
            yield f"{title}:"
            yield from (f"- {sentence}" for sentence in gate[name])


def decide(
    scores: Blocks,
    seed_differences: Mapping[int, float],
    margin: float,
    ground_truth: Blocks | None,
    claims: Mapping[TaskName, TaskClaim] = NO_CLAIMS,
) -> PromotionGate:
    """Promote only what is shown: better overall and on a task, harmful on none, for every seed, and in ground truth.

    The blocks are over the prompts of the tasks that count; `claims` has those that do not count too. `margin` is the
    largest acceptable loss of a task, in score; the ground truth's blocks were measured by margins of their own.
    """
    tasks = judged(scores.tasks, claims)
    losses = {
        task: _objections_to_task(task, block, scores.tasks[task], claims.get(task), margin)
        for task, block in tasks.items()
    }
    of_truth = _objections_to_truth("", ground_truth) if ground_truth else []
    objections = [
        *_objections_to_overall(scores.overall),
        *chain.from_iterable(losses.values()),
        *_objections_to_tasks_together(tasks),
        *_objections_to_seeds(seed_differences),
        *of_truth,
    ]
    within = [task for task, block in tasks.items() if block.verdict == "worse" and not losses[task]]
    against = [worded("worse, but by less than the margin: {tasks}", tasks=", ".join(within))] if within else []
    known: list[str] = []
    for task, block in scores.tasks.items():
        if task in claims and (note := claims[task].note(task, block)):
            (against if claims[task].is_beaten else known).append(note)
    merits = [*_merits(Blocks(scores.overall, tasks), claims, seed_differences)]
    if not any(losses.values()):
        merits.append(_no_loss(tasks, margin))
    if ground_truth and not of_truth:
        merits.append(_merit_of_truth(scores, ground_truth))
    if not objections:
        known += [worded("the gain rests on one training seed")] * (len(seed_differences) == 1)
        unknown = "the ground truth of the answers is not known: the gain is one of reward only"
        known += [] if ground_truth else [worded(unknown)]
    gate = PromotionGate("hold" if objections else "promote", tuple(merits), tuple(objections))
    return gate.adding(against=against, known=[*known, *not_learned(claims)])


def hold_where_worse(
    gate: PromotionGate, against: str, scores: Blocks, ground_truth: Blocks | None, margin: float
) -> PromotionGate:
    """Hold, whatever was decided, a model that may be worse in another comparison than the gate's own.

    It need not be better there: overall, a loss as large as the margin must be excluded, and no task may be shown to be
    worse after Holm's correction; without it, one of six equally good tasks would be found worse one time in four.
    """
    objections = [
        *_objections_to_loss(f"{against}, {worded('overall')}", scores.overall, margin),
        *(
            worded("{what} is worse: {harm}", what=f"{against}, {task}", harm=harm)
            for task, harm in _harmed(scores.tasks).items()
        ),
        *(_objections_to_truth(f"{against}, ", ground_truth) if ground_truth else ()),
    ]
    if objections:
        return gate.held(*objections)
    merit = worded("{against} it is not worse: {difference}", against=against, difference=_difference(scores.overall))
    return gate.adding([merit])


def hold_where_spoilt(
    gate: PromotionGate, claims: Mapping[TaskName, TaskClaim], ground_truths: Mapping[str, Blocks | None]
) -> PromotionGate:
    """Hold, whatever was decided, where a task that counts for nothing became alike in its answers, or less right.

    The ground truths are over all tasks, by the words for the model that each compares with. A policy that collapsed on
    one of its two tasks was promoted for the other.
    """
    idle = {task: claim for task, claim in claims.items() if not claim.learned}
    objections = [claim.collapse(task) for task, claim in idle.items() if claim.became_alike]
    for against, ground_truth in ground_truths.items():
        for task, harm in (_harmed(ground_truth.tasks) if ground_truth else {}).items():
            if task in idle:
                what = against + worded("the ground truth of {task}", task=task)
                objections.append(worded("{what} is worse: {harm}", what=what, harm=harm))
    return gate.held(*objections) if objections else gate


def _merits(
    scores: Blocks, claims: Mapping[TaskName, TaskClaim], seed_differences: Mapping[int, float]
) -> Iterator[str]:
    """Yield what is shown of the scores: each sentence holds whatever the verdict is."""
    if scores.overall.verdict == "better":
        overall = "overall the score rose by {rise}, {interval}"
        on_those = "on the tasks that count the score rose by {rise}, {interval}"
        yield worded(
            on_those if not_learned(claims) else overall,
            rise=decimal(scores.overall.mean_difference),
            interval=_interval(scores.overall),
        )
    claimed = [task for task, block in scores.tasks.items() if block.verdict == "better"]
    if claimed:
        yield worded("better after Holm's correction for the number of tasks: {tasks}", tasks=", ".join(claimed))
    if len(seed_differences) > 1 and min(seed_differences.values()) > 0:
        yield worded("each of the {n} training seeds gained", n=len(seed_differences))
    best = {task: name for task in claimed if task in claims and (name := claims[task].best_baseline)}
    if best:
        scores_of = {task: decimal(claims[task].baselines[name].scores.mean_base) for task, name in best.items()}
        listed = ", ".join(f"{task} (`{worded(name)}` {scores_of[task]})" for task, name in best.items())
        yield worded("above the best baseline, by the same test: {tasks}", tasks=listed)


def _no_loss(tasks: Mapping[TaskName, PairedStats], margin: float) -> str:
    wide = [task for task, block in tasks.items() if block.margin_is_wide(margin)]
    on_every = "on every task a loss as large as the margin of {margin} is excluded by a one-sided 95 % bound"
    on_others = (
        "on every task but {wide}, of whose base's score it is more than half, a loss as large as the margin of "
        "{margin} is excluded by a one-sided 95 % bound"
    )
    return worded(on_others if wide else on_every, margin=shortest(margin), wide=", ".join(wide))


def _merit_of_truth(scores: Blocks, ground_truth: Blocks) -> str:
    unknown = [task for task in scores.tasks if task not in ground_truth.tasks]
    difference = _difference(ground_truth.overall)
    found = worded("the ground truth is not worse on any task; overall {difference}", difference=difference)
    return worded("{found}; it is not known of {tasks}", found=found, tasks=", ".join(unknown)) if unknown else found


def _objections_to_overall(overall: PairedStats) -> list[str]:
    if overall.ci_low is None or overall.mde is None:
        return [worded("there is one prompt, which says nothing of others")]
    if overall.n_nonzero == 0:
        return [worded("base and tuned score the same on all {prompts} prompts", prompts=overall.n_prompts)]
    if overall.verdict == "better":
        return []
    if overall.verdict == "worse":
        return [worded("{what} is worse: {harm}", what=worded("overall"), harm=_harm(overall))]
    unshown = (
        "improvement overall is not shown: {difference}, p {p}; this many prompts and seeds find a true gain of "
        "{effect} with power .80"
    )
    p, effect = p_value(overall.p_signflip), decimal(overall.mde)
    return [worded(unshown, difference=_difference(overall), p=p, effect=effect)]


def _objections_to_task(
    task: TaskName, shown: PairedStats, block: PairedStats, claim: TaskClaim | None, margin: float
) -> list[str]:
    if claim is not None and shown.verdict != block.verdict:
        objection = claim.objection(task, block)
        return [] if objection is None else [objection]
    # Harm within the margin is noted beside a merit; harm beyond it, or possibly beyond it, is an objection.
    excluded = block.noninferiority_low is not None and block.noninferiority_low > -margin
    within = excluded and not block.margin_is_wide(margin)
    if block.verdict == "worse" and within and not _tells_too_little(block):
        return []
    return _objections_to_loss(task, block, margin)


def _objections_to_loss(what: str, block: PairedStats, margin: float) -> list[str]:
    if block.noninferiority_low is None:
        return [worded("{what} is undecided: it has one prompt", what=what)]
    if _tells_too_little(block):
        alike = (
            "{what} is undecided: all {prompts} prompts have the same difference, {difference}; to exclude a loss that "
            "none of them shows takes {needed}"
        )
        difference, needed = signed(block.mean_difference), block.n_for_margin
        return [worded(alike, what=what, prompts=block.n_prompts, difference=difference, needed=needed)]
    if block.verdict == "worse":
        return [worded("{what} is worse: {harm}", what=what, harm=_harm(block))]
    if block.noninferiority_low > -margin:
        return []
    sentence = worded(
        "{what} is undecided: with {prompts} prompts a loss of {loss} cannot be excluded, the margin is {margin}; "
        "{remedy}",
        what=what,
        prompts=block.n_prompts,
        loss=decimal(-block.noninferiority_low),
        margin=shortest(margin),
        remedy=_remedy(block),
    )
    return [sentence]


def _tells_too_little(block: PairedStats) -> bool:
    """Return whether no prompt differs from another, none gained, and they are too few to exclude a rare loss."""
    without_spread = block.mde == 0 and block.mean_difference <= 0
    return without_spread and block.n_for_margin is not None and block.n_for_margin > block.n_prompts


def _remedy(block: PairedStats) -> str:
    if block.n_for_margin is None:
        return worded(
            "no number of prompts would show that it is none, since the training seeds differ too much: add seeds"
        )
    if block.n_for_margin <= block.n_prompts:
        return worded(
            "so many would show it of equally good models, and the mean difference is {difference}",
            difference=signed(block.mean_difference),
        )
    return worded("if the models are equally good, about {prompts} prompts would show it", prompts=block.n_for_margin)


def _objections_to_tasks_together(tasks: Mapping[TaskName, PairedStats]) -> list[str]:
    if any(block.verdict == "better" for block in tasks.values()):
        return []
    if uncounted := [task for task, block in tasks.items() if block.verdict in NO_GAIN]:
        return [worded("no task's gain counts; of {tasks} the reasons are among these", tasks=", ".join(uncounted))]
    nearest = min(tasks, key=lambda task: tasks[task].p_holm)
    sentence = worded(
        "no task is better after Holm's correction for the number of tasks; the nearest to it is {task}, p {p}",
        task=nearest,
        p=p_value(tasks[nearest].p_holm),
    )
    return [sentence]


def _objections_to_seeds(seed_differences: Mapping[int, float]) -> list[str]:
    return [
        worded("seed {seed} did not gain: mean difference {difference}", seed=seed, difference=signed(difference))
        for seed, difference in seed_differences.items()
        if difference <= 0
    ]


def _objections_to_truth(against: str, ground_truth: Blocks) -> list[str]:
    """Return objections if a task's answers may be less right than before, whatever their reward.

    A reward can be hacked. What may be lost is a share of what the base has, so where it has nothing, nothing can be.
    """
    harmed = _harmed(ground_truth.tasks)
    objections = []
    for task, block in ground_truth.tasks.items():
        what, margin = against + worded("the ground truth of {task}", task=task), ground_truth.margins[task]
        if task in harmed:
            objections.append(worded("{what} is worse: {harm}", what=what, harm=harmed[task]))
        elif block.mean_base > 0 and (block.noninferiority_low is None or block.noninferiority_low <= -margin):
            objections += _objections_to_loss(what, replace(block, verdict="inconclusive"), margin)
    return objections


def _harmed(tasks: Mapping[TaskName, PairedStats]) -> dict[TaskName, str]:
    """Return the tasks shown to be worse after Holm's correction, each with the numbers that show it."""
    p_harm = holm({task: block.p_harm for task, block in tasks.items()})
    return {task: _harm(replace(tasks[task], p_harm=p)) for task, p in p_harm.items() if p < ALPHA}


def _harm(block: PairedStats) -> str:
    return worded(
        "mean difference {difference}, p {p} for harm",
        difference=signed(block.mean_difference),
        p=p_value(block.p_harm),
    )


def _difference(block: PairedStats) -> str:
    return worded(
        "mean difference {difference}, {interval}", difference=signed(block.mean_difference), interval=_interval(block)
    )


def _interval(block: PairedStats) -> str:
    return worded("95 % interval {interval}", interval=interval(block.ci_low, block.ci_high))
