"""The one runner: the library on the prompts of a sheet, and what a reward must keep beside the bounds."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from statistics import fmean
from types import MappingProxyType
from typing import Final

from schemas.config.config import AUDIT_FOLDER
from schemas.documents import Rollout, ScoredRollout
from schemas.store.files import read_store
from schemas.tasks import TaskName
from tasks.audit.alterations.bounds import TOLERANCE
from tasks.audit.alterations.fields import CHURN, EXTRACTION, SENTIMENT
from tasks.audit.alterations.findings import INSIGHTS, PUSH
from tasks.audit.alterations.library import ANY_TASK, RIGHT, Alteration, GoodAnswer
from tasks.audit.alterations.queries import SQL_QA
from tasks.audit.gate import Probe
from tasks.commerce.registry import TASKS, RolloutScorer, reward_of
from tasks.commerce.reward import Reference
from tasks.commerce.sql_qa.sandbox import Database, Databases

ALTERATIONS: Final[Mapping[TaskName, tuple[Alteration, ...]]] = MappingProxyType(
    {
        "extraction": (*ANY_TASK, *EXTRACTION),
        "sql_qa": (*ANY_TASK, *SQL_QA),
        "insights": (*ANY_TASK, *INSIGHTS),
        "push": (*ANY_TASK, *PUSH),
        "sentiment": (*ANY_TASK, *SENTIMENT),
        # A shopper may leave though all speaks for staying, and few reasons can be given then.
        "churn": (replace(RIGHT, judged="most"), *ANY_TASK[1:], *CHURN),
    }
)
MAX_PROMPTS: Final = 16
"""Prompts of a task whose answers are altered: an audit of a long sheet takes no longer."""
CHANCE: Final = 0.05
"""Chance of so many misses, if half of all prompts missed the bound, up to which they are more than chance."""
MIN_FOR_MOST: Final = 5
SqlStores = tuple[Databases | None, Database | None]
Prompts = Sequence[tuple[Rollout, GoodAnswer]]
SCORED_AGAIN: Final = 3  # Alterations of each prompt that are scored twice.


class RewardMeter:
    """A reward on the altered answers to some prompts; it keeps the first fault of a total, and what to ask again."""

    def __init__(self, score: RolloutScorer) -> None:
        self._score = score
        self._known: dict[tuple[str, str], float] = {}
        self.count = 0
        self.fault: str | None = None
        self.asked: list[tuple[Rollout, float]] = []

    def reward(self, rollout: Rollout) -> float:
        """Return a reward, and check that it is the weighted sum of its components."""
        scored = self._score(rollout)
        self.count += 1
        self.fault = self.fault or _fault_of(scored)
        return scored.reward

    def beside(self, rollout: Rollout, text: str) -> float:
        """Return the reward of the text that a bound is beside, which most alterations of a prompt have in common."""
        key = rollout.prompt_id, text
        if key not in self._known:
            self._known[key] = self.reward(rollout.model_copy(update={"completion": text}))
        return self._known[key]


def run_alterations(task: TaskName, rollouts: Sequence[Rollout], score: RolloutScorer) -> dict[str, Probe]:
    """Alter the right answer to each prompt, and compare what a reward gives with the bounds.

    Returns a probe for each alteration that applies to a prompt, and two of the reward's total; one failed probe if no
    reference suffices.
    """
    by_prompt = {rollout.prompt_id: rollout for rollout in rollouts if _suffices(rollout.reference or {})}
    prompts = [
        (rollout, good_answer(task, rollout.prompt, rollout.reference or {}, shipped_stores(task)))
        for rollout in list(by_prompt.values())[:MAX_PROMPTS]
    ]
    if not prompts:
        return {"right answer": Probe(False, "no reference has enough for a right answer")}
    meter = RewardMeter(score)
    found = ((each, list(_rewards(each, prompts, meter))) for each in ALTERATIONS[task])
    probes = {each.name: _probe(each, rewards) for each, rewards in found if rewards}
    fault = meter.fault or f"{meter.count} rewards are the weighted sum of their components, all from 0 to 1"
    return probes | {"weighted sum": Probe(meter.fault is None, fault), "repeatable": _repeatable(meter)}


def _suffices(reference: Reference) -> bool:
    """Return whether a right answer can be made of a reference: all is known, or of ten fields the mood.

    A complaint must be quoted from the review, so that its words must be known; and stars may contradict a sentiment.
    """
    if fields := reference.get("fields"):
        untold = fields.get("main_complaint") and reference.get("complaint_words", "-") is None
        return bool(fields.get("sentiment") and fields.get("sentiment_score") and not untold)
    if not reference or any(value is None for name, value in reference.items() if name != "rating"):
        return False
    stars = {"negative": (1, 2, 3), "positive": (3, 4, 5)}.get(str(reference.get("polarity")), (1, 2, 3, 4, 5))
    return reference.get("score", 3) in stars


def good_answer(task: TaskName, prompt: str, reference: Reference, stores: SqlStores = (None, None)) -> GoodAnswer:
    """Return a prompt with its right answer; sql_qa has the reward's copies of the store, and another store."""
    known = TASKS[task]
    return GoodAnswer(task, prompt, reference, known.answer(reference), known.system, *stores)


@cache
def shipped_stores(task: TaskName) -> SqlStores:
    """Return the shipped store, as the reward's copies and whole; none for other tasks than sql_qa."""
    if task != "sql_qa":
        return None, None
    folder = AUDIT_FOLDER / "store"
    return Databases.open(folder), Database(read_store(folder))


def _rewards(alteration: Alteration, prompts: Prompts, meter: RewardMeter) -> Iterator[tuple[float, float]]:
    """Yield the reward of each altered answer, and that of the text which it is beside."""
    for rollout, good in prompts:
        text = alteration.apply(good)
        other = good.text if alteration.beside is None else alteration.apply(good, alteration.beside)
        known = good.reference if alteration.knows is None else alteration.knows(good.reference)
        if text is None or other is None or known is None:
            continue
        asked = rollout.model_copy(update={"completion": text, "reference": dict(known)})
        reward = meter.reward(asked)
        if len(meter.asked) < SCORED_AGAIN * len(prompts):
            meter.asked.append((asked, reward))
        yield reward, meter.beside(rollout, other)


def _probe(alteration: Alteration, rewards: Sequence[tuple[float, float]]) -> Probe:
    bound, judged = alteration.bound, alteration.judged
    excesses = [bound.excess(*each) for each in rewards]
    missed = sum(excess > TOLERANCE for excess in excesses)
    if judged == "worst":
        failed, (reward, beside) = missed > 0, rewards[excesses.index(max(excesses))]
    else:
        reward, beside = (fmean(found) for found in zip(*rewards, strict=True))
        failed = bound.excess(reward, beside) > TOLERANCE if judged == "mean" else _are_most(missed, len(rewards))
    earned = f"earns {reward:.3f} beside {beside:.3f} ({judged} of {len(rewards)} prompts)"
    return Probe(not failed, f"{earned}, must be: {bound}")


def _are_most(missed: int, count: int) -> bool:
    """Return whether more prompts miss a bound than would by chance, if half did; few prompts decide nothing."""
    chance = sum(math.comb(count, each) for each in range(missed, count + 1)) / 2.0**count
    return count >= MIN_FOR_MOST and chance <= CHANCE


def _repeatable(meter: RewardMeter) -> Probe:
    """Score some answers again, the last first: results must not depend on earlier calls."""
    for rollout, reward in reversed(meter.asked):
        again = meter.reward(rollout)
        if not abs(again - reward) <= TOLERANCE:
            return Probe(False, f"an answer earned {reward:.3f} and, asked again, {again:.3f}")
    return Probe(True, f"{len(meter.asked)} answers earned the same when they were asked about again")


def _fault_of(scored: ScoredRollout) -> str | None:
    weights, found = reward_of(scored.task, scored.spec).weights, scored.components
    if found.keys() != weights.keys():
        return f"the components are {', '.join(found)}, and the specification's {', '.join(weights)}"
    whole = math.fsum(weight for weight in weights.values() if weight > 0)
    if not abs(whole - 1) <= TOLERANCE:
        return f"the weights sum to {whole:.3f}, which is not 1"
    for name, value in found.items():
        if not 0 <= value <= 1:
            return f"component {name} is {value:.3f}, which is not from 0 to 1"
    # Not by the reward's own total, which may be at fault.
    total = min(max(math.fsum(weight * found[name] for name, weight in weights.items()), 0.0), 1.0)
    if not abs(scored.reward - total) <= TOLERANCE:
        return f"a reward is {scored.reward:.3f}, and the weighted sum of its components {total:.3f}"
    return None
