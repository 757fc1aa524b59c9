"""Evidence beside the scores: from scored answers to what each task may claim, and to the gate's decision."""

from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from schemas.config.evaluate import EvaluateConfig
from schemas.documents import PairedScore, ScoredRollout
from schemas.tasks import TaskName
from tasks.commerce.shortcuts import variety_of
from tasks.evaluate.claims import AgainstBaseline, Floor, TaskClaim, learned_tasks
from tasks.evaluate.compare import Comparison
from tasks.evaluate.gate import PromotionGate, decide, hold_where_nothing_is_learned, hold_where_worse

Compare = Callable[[Sequence[PairedScore], Sequence[PairedScore]], Comparison]
Metrics = Mapping[TaskName, Mapping[str, float]]


class Evaluated(NamedTuple):
    """One model's answers, their scores and their ground truth."""

    rollouts: Sequence[ScoredRollout]
    pairs: Sequence[PairedScore]
    metrics: Metrics


class Match(NamedTuple):
    """Scores that were compared."""

    before: Sequence[PairedScore]
    challenger: Sequence[PairedScore]
    found: Comparison
    """Their comparison, over all tasks."""

    def of(self, tasks: Collection[TaskName], compare: Compare) -> Comparison:
        """Return the comparison over some of the tasks."""
        if self.found.tasks.keys() <= set(tasks):
            return self.found
        return compare(_of(tasks, self.before), _of(tasks, self.challenger))


class ScoredBaseline(NamedTuple):
    """Scores of answers that take no model."""

    name: str
    says: Mapping[TaskName, str]
    """By task, its text, or the lines that it reads."""
    pairs: Sequence[PairedScore]


def claims_of(
    config: EvaluateConfig,
    base: Evaluated,
    chosen: Evaluated,
    tuned: Sequence[PairedScore],
    baselines: Sequence[ScoredBaseline],
    compare: Compare,
) -> dict[TaskName, TaskClaim]:
    """Return what is known of each task beside base and tuned's scores.

    Args:
        config: Floors, and the least variety.
        base: The base.
        chosen: The policy that may be promoted, whose ground truth and variety count.
        tuned: Scores of the policies of all seeds, which are compared with the baselines.
        baselines: The baselines with their scores.
        compare: Compares the second scores with the first.
    """
    against = against_baselines(baselines, tuned, compare)
    return {
        task: TaskClaim(
            baselines=against.get(task, {}),
            floors=tuple(
                Floor(metric, least, base.metrics[task].get(metric, 0.0), chosen.metrics[task].get(metric, 0.0))
                for metric, least in config.floors.get(task, {}).items()
                if metric in chosen.metrics[task] or metric in base.metrics[task]
            ),
            variety=_variety(chosen.rollouts, task),
            base_variety=_variety(base.rollouts, task),
            min_variety=config.min_variety,
        )
        for task in chosen.metrics
    }


def against_baselines(
    baselines: Sequence[ScoredBaseline], tuned: Sequence[PairedScore], compare: Compare
) -> dict[TaskName, dict[str, AgainstBaseline]]:
    """Compare the tuned model with each baseline, by task and name; arguments as of `claims_of`."""
    against: dict[TaskName, dict[str, AgainstBaseline]] = {}
    for baseline in baselines:
        # Of a baseline's ground truth the mean is enough.
        found = compare(_without_truth(baseline.pairs), _without_truth(_of(baseline.says, tuned)))
        for task, block in found.tasks.items():
            truths = [pair.truth for pair in baseline.pairs if pair.task == task and pair.truth is not None]
            against.setdefault(task, {})[baseline.name] = AgainstBaseline(
                baseline.says[task], block, fmean(truths) if truths else None
            )
    return against


def decide_by(
    claims: Mapping[TaskName, TaskClaim],
    match: Match,
    others: Mapping[str, Match],
    margin: float,
    compare: Compare,
) -> PromotionGate:
    """Decide by the tasks that count: those that base or tuned has learned.

    Args:
        claims: What is known of the tasks.
        match: Base and tuned.
        others: Further comparisons in which the tuned model must not be worse, by their name.
        margin: The largest acceptable loss of a task, in score.
        compare: Compares the second scores with the first.
    """
    learned = learned_tasks(claims)
    if not learned:
        return hold_where_nothing_is_learned(claims)
    counted = match.of(learned, compare)
    gate = decide(counted.scores, counted.seed_differences, margin, counted.ground_truth, claims)
    for name, other in others.items():
        found = other.of(learned, compare)
        gate = hold_where_worse(gate, name, found.scores, found.ground_truth, margin)
    return gate


def _without_truth(pairs: Sequence[PairedScore]) -> list[PairedScore]:
    return [pair.model_copy(update={"truth": None}) for pair in pairs]


def _of(tasks: Collection[TaskName], pairs: Sequence[PairedScore]) -> list[PairedScore]:
    return [pair for pair in pairs if pair.task in tasks]


def _variety(rollouts: Sequence[ScoredRollout], task: TaskName) -> float | None:
    own = [rollout for rollout in rollouts if rollout.task == task]
    found = variety_of(own) if own else None
    return None if found is None else found.share
