"""Plan of a training: of each task what cheap ways reach, what reinforcement could add, and what could be shown of it.

All figures are of the validation split, so that no test prompt is looked at before the judgement. The plan is a
forecast and decides no promotion.

- **Room.** The mean best of k free answers of the model that GRPO starts from (pass@k, in reward), less its served
  answers to the same prompts: a cold answer is often better than the mean of free ones (pass@1) before any training.
  Reinforcement moves probability to answers that the model gives already: on verifiable tasks it does not go beyond
  what many draws reach (2504.13837). It is expected to reach half of the room at best.
- **Shown gain.** The true gain over the best cheap way that the paired test finds four times in five on the test split
  of this size: z(1 - alpha) + z(.80) standard errors, with alpha = .05 over the number of tasks, Holm's first step. The
  standard error is the paired test's own, of validation differences: between the model that GRPO starts from and that
  way or, where these differ alike everywhere, between its free answers and the ones it serves.
- **Learner.** The cheapest way within .02 of the best cheap one; GRPO where half of the room leads above that one by
  as much as is shown, and by .02 above it and every baseline.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Final

import numpy as np

from schemas.config.evaluate import BASELINES, OverRungs
from schemas.errors import InputError
from schemas.tasks import TASK_NAMES, TaskName
from tasks.evaluate.stats.variance import ALPHA, POWER
from tasks.plan.scores import CheapScores, Model
from tasks.plan.training_plan import LEARNERS, TRAINED, Learner, TaskPlan, TrainingPlan

NEAR: Final = 0.02
"""Difference in reward that pays for no dearer way."""
REACHED: Final = 0.5
"""Share of its room that a training is expected to gain at best; an assumption."""


@dataclass(frozen=True)
class Terms:
    """Conditions of the gate, and the training's start."""

    starts_from: Model
    test_prompts: Mapping[TaskName, int]
    over_rungs: OverRungs = "report"


def plan_training(scores: CheapScores, terms: Terms, *, algorithm: str = "grpo") -> TrainingPlan:
    """Return the plan of a training, without prices, by cheap scores; InputError where the base was not scored."""
    if not (of_base := [each.task for each in scores.served if each.rung == "base"]):
        raise InputError("no answer of the base to a validation prompt was scored; raise curate.validation_per_task")
    tasks = [task for task in TASK_NAMES if task in of_base]
    plans = {task: _plan_task(task, scores, terms, len(tasks)) for task in tasks}
    against = _best(scores) if terms.over_rungs == "require" else "base"
    must_gain = _must_gain(scores, terms, against, plans)
    return TrainingPlan(algorithm, plans, against=against, must_gain=must_gain, tokens=scores.tokens)


def _plan_task(task: TaskName, scores: CheapScores, terms: Terms, tasks: int) -> TaskPlan:
    """Return the plan of one of so many tasks."""
    scored = dict.fromkeys(each.rung for each in scores.served if each.task == task)
    rungs = {rung: fmean(scores.of(rung, task).values()) for rung in scored}
    with_model = [rung for rung in LEARNERS if rung in rungs]
    without = [reached for rung, reached in rungs.items() if rung in BASELINES]
    best = max(with_model, key=rungs.__getitem__)
    cheapest = next(rung for rung in with_model if rungs[rung] >= rungs[best] - NEAR)
    learner: Learner = "nothing" if without and max(without) >= rungs[best] - NEAR else LEARNERS[cheapest]
    start, test_prompts = terms.starts_from, terms.test_prompts[task]
    groups, served = scores.groups_of(start, task), scores.of(start, task)
    pass_1, pass_k, expected = None, None, None
    if groups:
        pass_1, pass_k = fmean(map(fmean, groups.values())), fmean(map(max, groups.values()))
        room = max(0.0, pass_k - fmean(served[prompt] for prompt in groups))
        expected = rungs[start] + REACHED * room - rungs[best]
    shown, power = None, None
    if (spread := _spread(scores, start, best, task)) is not None:
        error, level = spread / math.sqrt(test_prompts), ALPHA / tasks
        shown = (_z(1 - level) + _z(POWER)) * error
        if expected is not None:
            power = _power(expected, error, level)
            least = max([rungs[best], *without]) - rungs[best] + NEAR
            learner = TRAINED if expected >= max(shown, least) else learner
    return TaskPlan(len(served), test_prompts, rungs, best, pass_1, pass_k, expected, shown, power, learner)


def _must_gain(scores: CheapScores, terms: Terms, against: str, plans: Mapping[TaskName, TaskPlan]) -> float | None:
    """Return the gain over its start that a policy needs; rewards are weighed as the test split has its prompts."""
    start, every = terms.starts_from, sum(terms.test_prompts[task] for task in plans)
    spread = _spread(scores, start, against)
    if spread is None:
        return None
    lead = sum(plan.test_prompts * (plan.rungs[start] - plan.rungs[against]) for plan in plans.values())
    return max(0.0, (_z(1 - ALPHA) + _z(POWER)) * spread / math.sqrt(every) - lead / every)


def _best(scores: CheapScores) -> str:
    """Return the cheap way with a model that reaches most over all prompts."""
    return max(scores.models, key=lambda rung: fmean(scores.of(rung).values()))


def _spread(scores: CheapScores, start: Model, other: str, task: TaskName | None = None) -> float | None:
    """Return the standard deviation of a prompt's difference between a policy and a cheap way; None for one prompt."""
    served, of_start = scores.of(other, task), scores.of(start, task)
    differences = np.array([[of_start[prompt] - served[prompt]] for prompt in of_start if prompt in served])
    if np.allclose(differences, differences[:1]):
        # The start itself, or a way that is as far from it everywhere: this tells no error of a gain.
        groups = scores.groups_of(start, task)
        differences = np.array([np.subtract(group, served[prompt]) for prompt, group in groups.items()])
    if len(differences) < 2:
        return None
    return float(np.sqrt(np.var(differences, axis=0, ddof=1).mean()))


def _power(gain: float, error: float, level: float) -> float:
    from scipy.special import ndtr

    return float(ndtr(gain / error - _z(1 - level))) if error else float(gain > 0)


def _z(probability: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(probability))
