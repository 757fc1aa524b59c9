"""Race of one task's system prompts by successive halving (1502.07943), first of wordings, then of examples.

All candidates of a round answer the same prompts, and the better half runs on. The race is written as a generator of
what is to be answered, so that the tasks' races run side by side and share a model.
"""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from schemas.documents import ScoredRollout
from tasks.evaluate.prompts.wordings import PromptCandidate


@dataclass
class Runner:
    """PromptCandidate with its scored answers, to the first prompts of validation."""

    candidate: PromptCandidate
    scored: list[ScoredRollout] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """Return its mean reward; 0 without an answer."""
        return self.mean_of(len(self.scored))

    def mean_of(self, places: int) -> float:
        """Return its mean reward for the first prompts."""
        return fmean(each.reward for each in self.scored[:places]) if places else 0.0

    def components(self) -> dict[str, float]:
        """Return the mean of each component of its reward."""
        names = sorted({name for each in self.scored for name in each.components})
        return {name: fmean(each.components.get(name, 0.0) for each in self.scored) for name in names}


@dataclass(frozen=True)
class Trial:
    """Prompts that a candidate is to answer, by their places among the task's, from 0."""

    candidate: PromptCandidate
    rows: range


Trials = Generator[list[Trial], Sequence[Sequence[ScoredRollout]], Runner]
"""Yields what is to be answered, is sent what it earned, and returns the best."""


def race(
    wordings: Sequence[PromptCandidate],
    shown: Callable[[PromptCandidate], Sequence[PromptCandidate]],
    propose: Callable[[Runner], Sequence[PromptCandidate]],
    *,
    budget: int,
    rows: int,
    runners: list[Runner],
) -> Trials:
    """Find the best candidate with a budget of answers; of equals the earlier, the task's own wording first.

    Args:
        wordings: Candidates without examples, the task's own first.
        shown: Returns a wording under examples, with few and with more.
        propose: Returns further wordings after a round, from the best of it.
        budget: Most answers; half of them are kept for the examples.
        rows: Prompts of validation.
        runners: Receives every candidate that ran.
    """
    kept_for_examples = budget // 2 if shown(wordings[0]) else 0
    best = yield from _halve([Runner(each) for each in wordings], budget - kept_for_examples, rows, propose, runners)
    spent = sum(len(each.scored) for each in runners)
    examples = [Runner(each) for each in shown(best.candidate)]
    if examples:
        best = yield from _halve([best, *examples], budget - spent, rows, lambda _: (), runners)
    return best


def _halve(
    pool: list[Runner],
    budget: int,
    rows: int,
    propose: Callable[[Runner], Sequence[PromptCandidate]],
    runners: list[Runner],
) -> Trials:
    rounds = max(1, math.ceil(math.log2(len(pool))))
    for number in range(rounds):
        places = _places(pool, budget // (rounds - number), rows)
        trials = [Trial(each.candidate, range(len(each.scored), places)) for each in pool if len(each.scored) < places]
        if trials:
            found = dict(zip([trial.candidate for trial in trials], (yield trials), strict=True))
            for each in pool:
                each.scored += found.get(each.candidate, ())
            budget -= sum(map(len, found.values()))
        runners += [each for each in pool if not any(each is known for known in runners)]
        # The best wording has answered more prompts than its examples have yet: they are compared on what all answered.
        pool = sorted(pool, key=lambda each: -each.mean_of(places))[: math.ceil(len(pool) / 2)]
        if number + 1 < rounds and budget:
            pool += [Runner(each) for each in propose(pool[0])]
    return pool[0]


def _places(pool: Sequence[Runner], budget: int, rows: int) -> int:
    """Return how many prompts each may have answered after a round, so that the budget suffices."""
    places = 0
    while places < rows and sum(max(0, places + 1 - len(each.scored)) for each in pool) <= budget:
        places += 1
    return places
