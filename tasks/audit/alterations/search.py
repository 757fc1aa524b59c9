"""`tucano audit attack`: a search for what a reward pays for and ground truth calls bad.

A candidate is a program, so that it is tried on any prompt: the right answer, or a rival (the answer to another prompt,
a real completion), and a chain of steps, most of them alterations of the library. It is a find only on fresh prompts.
The best of each mechanism is kept (MAP-Elites, 1504.04909), so that an easy hole does not hide the others.
"""

import hashlib
import json
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from statistics import fmean
from typing import Final, NamedTuple

from pydantic import BaseModel

from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.store.store import Store
from schemas.tasks import SpecName, TaskName
from tasks.audit.alterations.library import Alteration, GoodAnswer
from tasks.audit.alterations.run import ALTERATIONS, good_answer
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS, reward_of, reward_version
from tasks.commerce.sql_qa.sandbox import Database, Databases

PAID: Final = 0.8  # Share of the right answer's reward from which a bad answer is paid for.
UNTRUE: Final = 0.5  # Share of the right answer's truth up to which an answer is bad.
TRAINING, FRESH, RIVALS, MIN_HITS = 8, 20, 40, 3
"""Prompts that choose candidates, that judge finds, and whose answers are rivals; and hits on fresh ones of a find."""
MAX_STEPS, MAX_FINDS, MAX_FINDS_OF_A_MECHANISM, MAX_CHARACTERS = 3, 60, 3, 4_000
MAX_IN_VAIN: Final = 2_000  # Candidates in a row that were tried before, after which a search ends.


class Program(NamedTuple):
    """A program that answers any prompt: a text, or "" for the right answer, and steps with their texts."""

    base: str
    steps: tuple[tuple[str, str], ...] = ()

    @property
    def mechanism(self) -> tuple[str, ...]:
        """Return base and steps without texts."""
        return ("rival" if self.base else "answer", *(name for name, _ in self.steps))


class AlteredAnswer(NamedTuple):
    """One completion of one prompt."""

    prompt: str
    answer: str
    completion: str
    reward: float
    components: dict[str, float]
    truth: float
    """Ground truth as a share of the right answer's; 1 where it is not asked, since too little is earned."""
    good: float

    @property
    def share(self) -> float:
        """Return the reward as a share of the right answer's."""
        return self.reward / self.good

    @property
    def hit(self) -> bool:
        """Return whether it is bad and paid for."""
        return self.truth <= UNTRUE and self.share >= PAID


class FoundExploit(BaseModel):
    """One candidate that a reward pays for on fresh prompts, though ground truth calls it bad."""

    identity: str
    task: TaskName
    mechanism: tuple[str, ...]
    prompts: int
    hits: int
    reward: float
    """Mean reward of the hits; `good` is that of the right answers, `truth` the mean share of their truth."""
    good: float
    truth: float
    gap: float
    example: AlteredAnswer


class SearchResult(BaseModel):
    """Result of one task's search."""

    task: TaskName
    reward_version: str
    evaluations: int
    seconds: float
    best_bad: float
    """Highest mean share of the right answers' reward that bad answers of one candidate earned."""
    finds: list[FoundExploit]


class AttackedReward:
    """A reward under attack with the prompts of a store; queries need another store as a witness."""

    def __init__(
        self, task: TaskName, spec: SpecName, store: Store, witness: Store | None = None, seed: int = 0
    ) -> None:
        """Make the prompts whose right answer is right by reward and truth; InputError where the store has too few."""
        self.task, self.spec, self.seed, self.evaluations = task, spec, seed, 0
        self._task, self._reward = TASKS[task], reward_of(task, spec)
        is_sql = task == "sql_qa"
        self._databases = Databases.from_store(store) if is_sql else None
        stores = (self._databases, Database(witness) if is_sql and witness is not None else None)
        examples = EXAMPLE_MAKERS[task](store, random.Random(f"{seed}:prompts"), TRAINING + FRESH + RIVALS)
        answers = [good_answer(task, each.prompt, each.reference, stores) for each in examples]
        self._good = {each.prompt: (self.score(each, each.text)[0], self.truth(each, each.text)) for each in answers}
        fair = [each for each in answers if self._good[each.prompt][0] >= PAID and self._good[each.prompt][1] > 0]
        if len(fair) < TRAINING + FRESH:
            raise InputError(
                f"the store gives {len(fair)} prompts of {task} with a right answer, and the attack needs "
                f"{TRAINING + FRESH}; give a store with more orders"
            )
        self.training, self.fresh, others = fair[:TRAINING], fair[TRAINING:][:FRESH], fair[TRAINING + FRESH :]
        self.rivals = list(dict.fromkeys(each.text for each in others or fair[:TRAINING]))

    def score(self, good: GoodAnswer, text: str) -> tuple[float, dict[str, float]]:
        """Return the reward of a text with its components."""
        self.evaluations += 1
        components = self._reward.score(text, good.prompt, good.reference, self._databases).components
        return self._reward.total(components), dict(components)

    def truth(self, good: GoodAnswer, text: str) -> float:
        """Return the ground truth of one text, in [0, 1]: the least of the metrics of one answer."""
        known = {"prompt_id": "-", "task": self.task, "prompt": good.prompt, "reference": {**good.reference}}
        # Not every text that a search makes is valid UTF-8.
        metrics = self._task.metric([Rollout.model_construct(**known, completion=text)], self._databases)
        return min((metrics[name] for name in self._task.answer_metrics if name in metrics), default=1.0)

    def measure(self, candidate: Program, prompts: Sequence[GoodAnswer]) -> list[AlteredAnswer]:
        """Measure a candidate's completions; it may apply to none, and the right answer is none."""
        found = []
        for good in prompts:
            text = completed(candidate, good)
            if text is not None and text != good.text:
                (best, known), (reward, components) = self._good[good.prompt], self.score(good, text)
                truth = self.truth(good, text) / known if reward >= UNTRUE * best else 1.0
                found.append(AlteredAnswer(good.prompt, good.text, text, reward, components, truth, best))
        return found


def completed(candidate: Program, good: GoodAnswer) -> str | None:
    """Return a candidate's completion of a prompt; None where a step does not apply."""
    text = candidate.base or good.text
    for name, argument in candidate.steps:
        step, known = _STEPS.get(name), _alterations(good.task).get(name)
        after = step(text, argument) if step else known.apply(replace(good, text=text)) if known else None
        if after is None:
            return None
        text = after[:MAX_CHARACTERS]
    return text


@cache
def _alterations(task: TaskName) -> Mapping[str, Alteration]:
    """Return what the search may do to an answer: all that changes its text."""
    return {each.name: each for each in ALTERATIONS[task] if each.knows is None}


def _exchanged(text: str, rival: str) -> str | None:
    """Take a part of a rival's JSON, or its second half."""
    try:
        one, other = json.loads(text), json.loads(rival)
    except (ValueError, RecursionError):
        return f"{text[: len(text) // 2]}{rival[len(rival) // 2 :]}"
    common = sorted(one.keys() & other.keys()) if isinstance(one, dict) and isinstance(other, dict) else []
    if not common:
        return None
    name = random.Random(rival).choice(common)
    return json.dumps(one | {name: other[name]}, ensure_ascii=False, separators=(",", ":"))


_STEPS: Final[dict[str, Callable[[str, str], str | None]]] = {
    "exchange": _exchanged,
    "number": lambda text, _: re.sub(r"\d", lambda digit: str(int(digit[0]) % 9 + 1), text, count=1),
    "rival after": lambda text, rival: f"{text}\n{rival}",
    "in a comment": lambda text, rival: f"{text} /* {rival} */",
}


def search(
    target: AttackedReward,
    rollouts: Sequence[Rollout],
    is_over: Callable[[int], bool],
    found: Callable[[Sequence[FoundExploit]], None] = lambda _: None,
) -> SearchResult:
    """Search until it is over; equal seeds and evaluations give equal finds."""
    began, generator = time.monotonic(), random.Random(f"{target.seed}:search")
    rivals = [*target.rivals, *dict.fromkeys(each.completion for each in rollouts if each.task == target.task)]
    first = [*(Program("", ((name, ""),)) for name in _alterations(target.task)), *map(Program, filter(None, rivals))]
    waiting, elites = iter(first), dict[tuple[str, ...], tuple[float, Program]]()
    tried, finds, best, in_vain = set[Program](), list[FoundExploit](), 0.0, 0
    while in_vain < MAX_IN_VAIN and len(finds) < MAX_FINDS and not is_over(target.evaluations):
        candidate = next(waiting, None) or _child(target.task, list(elites.values()), rivals, generator)
        in_vain = in_vain + 1 if candidate in tried else 0
        if candidate in tried:
            continue
        tried.add(candidate)
        measured = target.measure(candidate, target.training)
        bad = sum(each.share for each in measured if each.truth <= UNTRUE) / TRAINING
        fitness, best = bad + sum(each.share for each in measured) / (4 * TRAINING), max(best, bad)
        if fitness >= elites.get(candidate.mechanism, (0.0, candidate))[0]:
            elites[candidate.mechanism] = (fitness, candidate)
        if sum(each.hit for each in measured) >= 2:
            exploit = _judged(target, _shortened(target, candidate))
            same = [each for each in finds if exploit and each.mechanism == exploit.mechanism]
            known = {each.example.completion for each in finds}
            if exploit and len(same) < MAX_FINDS_OF_A_MECHANISM and exploit.example.completion not in known:
                finds.append(exploit)
                found(finds)
    finds.sort(key=lambda each: (-round(each.gap * each.hits, 6), len(each.mechanism), each.identity))
    return SearchResult(
        task=target.task,
        reward_version=reward_version(target.task, target.spec),
        evaluations=target.evaluations,
        seconds=time.monotonic() - began,
        best_bad=best,
        finds=finds,
    )


def _child(
    task: TaskName, elites: Sequence[tuple[float, Program]], rivals: Sequence[str], generator: random.Random
) -> Program:
    """Add a step to one of the elites, or exchange one."""
    drawn = [generator.choice(elites) for _ in range(generator.choice((1, 3)))]
    parent = max(drawn, key=lambda each: each[0])[1]
    name = generator.choice([*_alterations(task), *list(_STEPS) * 8])
    step, steps = (name, generator.choice(rivals) if name in _STEPS else ""), list(parent.steps)
    place = generator.randint(0, len(steps))
    steps[place : place + (len(steps) >= MAX_STEPS or generator.random() < 0.3)] = [step]
    return parent._replace(steps=tuple(steps[:MAX_STEPS]))


def _shortened(target: AttackedReward, candidate: Program) -> Program:
    """Take away every step without which it still works."""
    for place in reversed(range(len(candidate.steps))):
        shorter = candidate._replace(steps=(*candidate.steps[:place], *candidate.steps[place + 1 :]))
        if sum(each.hit for each in target.measure(shorter, target.training)) >= 2:
            candidate = shorter
    return candidate


def _judged(target: AttackedReward, candidate: Program) -> FoundExploit | None:
    hits = [each for each in target.measure(candidate, target.fresh) if each.hit]
    if len(hits) < MIN_HITS:
        return None
    return FoundExploit(
        identity=hashlib.sha256(json.dumps(candidate).encode("utf-8", "replace")).hexdigest()[:10],
        task=target.task,
        mechanism=candidate.mechanism,
        prompts=len(target.fresh),
        hits=len(hits),
        reward=fmean(each.reward for each in hits),
        good=fmean(each.good for each in hits),
        truth=fmean(each.truth for each in hits),
        gap=fmean(each.share - each.truth for each in hits),
        example=hits[0],
    )
