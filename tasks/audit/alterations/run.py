"""The one runner: the library on the prompts of a sheet, and what a reward must keep beside the bounds."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from statistics import fmean
from types import MappingProxyType
from typing import Any, Final

from schemas.config.config import AUDIT_FOLDER
from schemas.documents import Rollout, ScoredRollout
from schemas.store.files import read_store
from schemas.tasks import TaskName
from tasks.audit.alterations.fields import CHURN, EXTRACTION, SENTIMENT
from tasks.audit.alterations.findings import INSIGHTS
from tasks.audit.alterations.library import ANY_TASK, RIGHT, TOLERANCE, Alteration, GoodAnswer
from tasks.audit.alterations.queries import SQL_QA
from tasks.audit.alterations.templates import PUSH
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
SCORED_AGAIN: Final = 3  # Alterations of each prompt that are scored twice.


class RewardMeter:
    """A reward on the altered answers to some prompts; it keeps the first fault of a total, and what to ask again."""

    def __init__(self, score: RolloutScorer) -> None:
        self._score = score
        self._known: dict[tuple[str, str], float] = {}
        self.count = 0
        self.fault: str | None = None
        self.asked: list[tuple[Rollout, float]] = []

    def reward(self, rollout: Rollout, again: bool = False) -> float:
        """Return a reward, and check that it is the weighted sum of its components."""
        scored = self._score(rollout)
        self.count += 1
        self.fault = self.fault or _fault_of(scored)
        if again:
            self.asked.append((rollout, scored.reward))
        return scored.reward

    def beside(self, rollout: Rollout, text: str) -> float:
        """Return the reward of the text that a bound is beside, which most alterations of a prompt have in common."""
        key = rollout.prompt_id, text
        if key not in self._known:
            self._known[key] = self.reward(rollout.model_copy(update={"completion": text}))
        return self._known[key]


def run_alterations(task: TaskName, rollouts: Sequence[Rollout], score: RolloutScorer) -> dict[str, Probe]:
    """Alter the right answer to each prompt, and compare what a reward gives with the bounds.

    Returns:
        A probe for each alteration that applies to a prompt, and two of the reward's total; one failed probe if no
        reference suffices.
    """
    by_prompt = {rollout.prompt_id: rollout for rollout in rollouts if _suffices(rollout.reference)}
    prompts = [
        (rollout, good_answer(task, rollout.prompt, rollout.reference or {}, shipped_stores(task)))
        for rollout in list(by_prompt.values())[:MAX_PROMPTS]
    ]
    if not prompts:
        return {"right answer": Probe(False, "no reference has enough for a right answer")}
    measured = RewardMeter(score)
    probes = {each.name: probe for each in ALTERATIONS[task] if (probe := _probe(each, prompts, measured)) is not None}
    fault = measured.fault or f"{measured.count} rewards are the weighted sum of their components, all from 0 to 1"
    return probes | {"weighted sum": Probe(measured.fault is None, fault), "repeatable": _repeatable(measured)}


def _suffices(reference: Mapping[str, Any] | None) -> bool:
    """Return whether a right answer can be made of a reference: all is known, or of ten fields the mood.

    A complaint must be quoted from the review, so that its words must be known; and stars may contradict a sentiment.
    """
    fields = (reference or {}).get("fields")
    if fields:
        known = fields.get("sentiment") and fields.get("sentiment_score")
        return bool(known) and not (
            fields.get("main_complaint") and (reference or {}).get("complaint_words", "-") is None
        )
    if reference is None or any(value is None for name, value in reference.items() if name != "rating"):
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


def _probe(
    alteration: Alteration, prompts: Sequence[tuple[Rollout, GoodAnswer]], measured: RewardMeter
) -> Probe | None:
    rewards = list(_rewards(alteration, prompts, measured))
    if not rewards:
        return None
    excesses = [alteration.bound.excess(reward, beside) for reward, beside in rewards]
    missed = [excess > TOLERANCE for excess in excesses]
    if alteration.judged == "worst":
        failed, (reward, beside) = any(missed), rewards[excesses.index(max(excesses))]
    else:
        reward, beside = (fmean(found) for found in zip(*rewards, strict=True))
        failed = (
            alteration.bound.excess(reward, beside) > TOLERANCE if alteration.judged == "mean" else _are_most(missed)
        )
    return Probe(
        not failed,
        f"{alteration.says} Earns {reward:.3f} beside {beside:.3f} ({alteration.judged} of {len(rewards)} prompts), "
        f"must be: {alteration.bound}",
    )


def _rewards(
    alteration: Alteration, prompts: Sequence[tuple[Rollout, GoodAnswer]], measured: RewardMeter
) -> Iterator[tuple[float, float]]:
    """Yield the reward of each altered answer, and that of the text which it is beside."""
    for rollout, good in prompts:
        text = alteration.apply(good)
        other = good.text if alteration.beside is None else alteration.apply(good, alteration.beside)
        known = good.reference if alteration.knows is None else alteration.knows(good.reference)
        if text is None or other is None or known is None:
            continue
        asked = rollout.model_copy(update={"completion": text, "reference": dict(known)})
        again = len(measured.asked) < SCORED_AGAIN * len(prompts)
        reward = measured.reward(asked, again)
        yield reward, measured.beside(rollout, other)


def _are_most(missed: Sequence[bool]) -> bool:
    """Return whether more prompts miss a bound than would by chance, if half did; few prompts decide nothing."""
    count = len(missed)
    if count < MIN_FOR_MOST:
        return False
    return sum(math.comb(count, each) for each in range(sum(missed), count + 1)) <= CHANCE * 2.0**count


def _repeatable(measured: RewardMeter) -> Probe:
    """Score some answers again, the last first: results must not depend on earlier calls."""
    for rollout, reward in reversed(measured.asked):
        again = measured.reward(rollout)
        if not abs(again - reward) <= TOLERANCE:
            return Probe(False, f"an answer earned {reward:.3f} and, asked again, {again:.3f}")
    return Probe(True, f"{len(measured.asked)} answers earned the same when they were asked about again")


def _fault_of(scored: ScoredRollout) -> str | None:
    weights = reward_of(scored.task, scored.spec).weights
    if scored.components.keys() != weights.keys():
        return f"the components are {', '.join(scored.components)}, and the specification's {', '.join(weights)}"
    whole = math.fsum(weight for weight in weights.values() if weight > 0)
    if not abs(whole - 1) <= TOLERANCE:
        return f"the weights sum to {whole:.3f}, which is not 1"
    for name, value in scored.components.items():
        if not 0 <= value <= 1:
            return f"component {name} is {value:.3f}, which is not from 0 to 1"
    total = min(max(math.fsum(weight * scored.components[name] for name, weight in weights.items()), 0.0), 1.0)
    if not abs(scored.reward - total) <= TOLERANCE:
        return f"a reward is {scored.reward:.3f}, and the weighted sum of its components {total:.3f}"
    return None
