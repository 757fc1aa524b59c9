"""`tucano audit attack`: a search for what a reward pays for and ground truth calls bad.

A candidate is a program: a base (the right answer, the answer to another prompt, a real completion) and a chain of
steps, which are alterations of the library, exchanges with a rival answer, or numbers and words moved. So it is tried
on any prompt. What is paid for on some prompts is shortened, and is a find only where it is paid for on fresh ones. The
best candidate of each mechanism is kept (MAP-Elites, 1504.04909), so that an easy hole does not hide the others.
"""

import hashlib
import json
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict

from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.store.store import Store
from schemas.tasks import SpecName, TaskName
from tasks.audit.alterations.library import Alteration, GoodAnswer
from tasks.audit.alterations.run import ALTERATIONS
from tasks.commerce.example_makers import makers_of
from tasks.commerce.registry import reward_of, reward_version, tasks_of
from tasks.commerce.sql_qa.sandbox import Database, Databases

PAID: Final = 0.8
"""Share of the right answer's reward from which a bad answer is paid for."""
UNTRUE: Final = 0.5
"""Share of the right answer's truth up to which an answer is bad."""
TRAINING, FRESH, MIN_HITS = 8, 20, 3
"""Prompts on which candidates are chosen, prompts on which finds are judged, and how many of these a find needs."""
RIVALS: Final = 40
"""Prompts more, whose answers are tried on the others."""
MAX_STEPS: Final = 3
MAX_FINDS: Final = 60
MAX_CHARACTERS: Final = 4_000
TRIED_AGAIN: Final = 2_000
"""Candidates in a row that were tried before, after which a search ends."""
MECHANISM_FINDS: Final = 3
"""Finds of one mechanism that are kept."""


class Program(NamedTuple):
    """A program that answers any prompt."""

    base: str
    """The text it begins with; empty for the right answer of the prompt."""
    steps: tuple[tuple[str, str], ...] = ()
    """Names of steps, each with its argument."""

    @property
    def mechanism(self) -> tuple[str, ...]:
        """Return base and steps without texts."""
        return ("rival" if self.base else "answer", *(name for name, _ in self.steps))


class ExploitExample(BaseModel):
    """An exploit on one fresh prompt."""

    model_config = ConfigDict(frozen=True)

    prompt: str
    answer: str
    completion: str
    reward: float
    components: dict[str, float]
    truth: float


class FoundExploit(BaseModel):
    """One candidate that a reward pays for on fresh prompts, though ground truth calls it bad."""

    model_config = ConfigDict(frozen=True)

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
    example: ExploitExample


class SearchResult(BaseModel):
    """Result of one task's search."""

    model_config = ConfigDict(frozen=True)

    task: TaskName
    reward_version: str
    evaluations: int
    seconds: float
    best_bad: float
    """Highest mean share of the right answers' reward that bad answers of one candidate earned."""
    finds: list[FoundExploit]
    """The worst first."""


class SearchBudget(NamedTuple):
    """End of one task's search: whichever comes first."""

    seconds: float | None = None
    evaluations: int | None = None

    def is_spent(self, evaluations: int, seconds: float) -> bool:
        """Return whether there is nothing left."""
        late = self.seconds is not None and seconds >= self.seconds
        return late or (self.evaluations is not None and evaluations >= self.evaluations)


class AlteredAnswer(NamedTuple):
    """One completion of one prompt, as shares of the right answer's reward and truth."""

    text: str
    reward: float
    components: dict[str, float]
    share: float
    truth: float

    @property
    def hit(self) -> bool:
        """Return whether it is bad and paid for."""
        return self.truth <= UNTRUE and self.share >= PAID


@dataclass
class AttackedReward:
    """A reward under attack with the prompts of a store."""

    task: TaskName
    spec: SpecName
    store: Store
    witness: Store | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Make the prompts whose right answer is right by reward and truth.

        Raises:
            InputError: The store has too few.
        """
        self._task = tasks_of(self.spec)[self.task]
        self._reward = reward_of(self.task, self.spec)
        self._databases = Databases.from_store(self.store) if self.task == "sql_qa" else None
        witness = Database(self.witness) if self.task == "sql_qa" and self.witness is not None else None
        self.evaluations = 0
        known, count = self._task, TRAINING + FRESH + RIVALS
        answers = [
            GoodAnswer(
                *(self.task, each.prompt, each.reference, known.answer(each.reference), known.system),
                *(self._databases, witness),
            )
            for each in makers_of(self.spec)[self.task](self.store, random.Random(f"{self.seed}:prompts"), count)
        ]
        self._good = {each.prompt: (self.score(each, each.text)[0], self.truth(each, each.text)) for each in answers}
        fair = [each for each in answers if self._good[each.prompt][0] >= PAID and self._good[each.prompt][1] > 0]
        if len(fair) < TRAINING + FRESH:
            raise InputError(
                f"the store gives {len(fair)} prompts of {self.task} with a right answer, and the attack needs "
                f"{TRAINING + FRESH}; give a store with more orders"
            )
        self.training, self.fresh = fair[:TRAINING], fair[TRAINING : TRAINING + FRESH]
        self.rivals = list(dict.fromkeys(each.text for each in fair[TRAINING + FRESH :] or fair[:TRAINING]))

    def score(self, good: GoodAnswer, text: str) -> tuple[float, dict[str, float]]:
        """Return the reward of a text with its components."""
        self.evaluations += 1
        components = self._reward.score(text, good.prompt, good.reference, self._databases).components
        return self._reward.total(components), dict(components)

    def truth(self, good: GoodAnswer, text: str) -> float:
        """Return the ground truth of one text, in [0, 1]: the least of the metrics of one answer."""
        known = dict(good.reference)
        rollout = Rollout(prompt_id="-", task=self.task, prompt=good.prompt, completion="", reference=known)
        metrics = self._task.metric([rollout.model_copy(update={"completion": text})], self._databases)
        return min((metrics[name] for name in self._task.answer_metrics if name in metrics), default=1.0)

    def measure(self, candidate: Program, good: GoodAnswer) -> AlteredAnswer | None:
        """Measure a candidate's completion; None where it does not apply, or is the right answer."""
        text = completed(candidate, good)
        if text is None or text == good.text:
            return None
        reward, components = self.score(good, text)
        best, known = self._good[good.prompt]
        share = reward / best
        truth = self.truth(good, text) / known if share >= UNTRUE else 1.0
        return AlteredAnswer(text, reward, components, share, truth)

    def right(self, good: GoodAnswer) -> float:
        """Return the reward of the right answer."""
        return self._good[good.prompt][0]


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
        half = len(text) // 2
        return f"{text[:half]}{rival[len(rival) // 2 :]}"
    if not isinstance(one, dict) or not isinstance(other, dict) or not one.keys() & other.keys():
        return None
    generator = random.Random(rival)
    name = generator.choice(sorted(one.keys() & other.keys()))
    if isinstance(one[name], list) and isinstance(other[name], list) and one[name] and other[name]:
        place = generator.randrange(len(one[name]))
        other[name] = [*one[name][:place], generator.choice(other[name]), *one[name][place + 1 :]]
    return json.dumps(one | {name: other[name]}, ensure_ascii=False, separators=(",", ":"))


_STEPS: Final[dict[str, Callable[[str, str], str | None]]] = {
    "exchange": _exchanged,
    "number": lambda text, _: re.sub(r"\d", lambda digit: str(int(digit[0]) % 9 + 1), text, count=1),
    "rival after": lambda text, rival: f"{text}\n{rival}",
    "rival before": lambda text, rival: f"{rival}\n{text}",
    "in a comment": lambda text, rival: f"{text} /* {rival} */",
}


def search(
    target: AttackedReward,
    rollouts: Sequence[Rollout],
    budget: SearchBudget,
    found: Callable[[Sequence[FoundExploit]], None] = lambda _: None,
) -> SearchResult:
    """Search until time or evaluations are spent; equal seeds and evaluations give equal finds.

    Args:
        target: The reward and its prompts.
        rollouts: Completions of real policies to begin with, of any tasks.
        budget: When to end.
        found: Called with all finds when there is a new one.
    """
    began, generator = time.monotonic(), random.Random(f"{target.seed}:search")
    rivals = [*target.rivals, *dict.fromkeys(each.completion for each in rollouts if each.task == target.task)]
    waiting, elites = iter(list(_first(target.task, rivals))), dict[tuple[str, ...], tuple[float, Program]]()
    tried, finds, best, in_vain = set[Program](), list[FoundExploit](), 0.0, 0
    while in_vain < TRIED_AGAIN and len(finds) < MAX_FINDS:
        if budget.is_spent(target.evaluations, time.monotonic() - began):
            break
        candidate = next(waiting, None) or (_child(target.task, elites, rivals, generator) if elites else None)
        if candidate is None:
            break
        in_vain = in_vain + 1 if candidate in tried else 0
        if candidate in tried:
            continue
        tried.add(candidate)
        measured = _on(target, candidate, target.training)
        bad = [each.share for each in measured if each.truth <= UNTRUE]
        fitness = sum(bad) / TRAINING + sum(each.share for each in measured) / (4 * TRAINING)
        best = max(best, sum(bad) / TRAINING)
        if measured and fitness > elites.get(candidate.mechanism, (0.0, candidate))[0]:
            elites[candidate.mechanism] = (fitness, candidate)
        if sum(each.hit for each in measured) >= 2:
            exploit = _judged(target, _shortened(target, candidate))
            same = [each for each in finds if exploit and each.mechanism == exploit.mechanism]
            texts = {each.example.completion for each in finds}
            if exploit and len(same) < MECHANISM_FINDS and exploit.example.completion not in texts:
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


def _first(task: TaskName, rivals: Sequence[str]) -> Iterator[Program]:
    """Yield each alteration alone, and each rival answer."""
    yield from (Program("", ((name, ""),)) for name in _alterations(task))
    yield from (Program(text) for text in rivals if text)


def _child(
    task: TaskName,
    elites: dict[tuple[str, ...], tuple[float, Program]],
    rivals: Sequence[str],
    generator: random.Random,
) -> Program:
    """Add a step to one of the elites, or exchange one."""
    drawn = [generator.choice(list(elites.values())) for _ in range(generator.choice((1, 3)))]
    parent = max(drawn, key=lambda each: each[0])[1]
    names = [*_alterations(task), *list(_STEPS) * 8]
    name = generator.choice(names)
    step, steps = (name, generator.choice(rivals) if name in _STEPS else ""), list(parent.steps)
    place = generator.randint(0, len(steps))
    steps[place : place + (len(steps) >= MAX_STEPS or generator.random() < 0.3)] = [step]
    return parent._replace(steps=tuple(steps[:MAX_STEPS]))


def _on(target: AttackedReward, candidate: Program, prompts: Sequence[GoodAnswer]) -> list[AlteredAnswer]:
    return [found for good in prompts if (found := target.measure(candidate, good)) is not None]


def _shortened(target: AttackedReward, candidate: Program) -> Program:
    """Take away every step without which it still works."""
    for place in reversed(range(len(candidate.steps))):
        shorter = candidate._replace(steps=(*candidate.steps[:place], *candidate.steps[place + 1 :]))
        if sum(each.hit for each in _on(target, shorter, target.training)) >= 2:
            candidate = shorter
    return candidate


def _judged(target: AttackedReward, candidate: Program) -> FoundExploit | None:
    """Judge a candidate on fresh prompts; None where it is paid for on too few."""
    pairs = [(good, found) for good in target.fresh if (found := target.measure(candidate, good)) is not None]
    hits = [(good, found) for good, found in pairs if found.hit]
    if len(hits) < MIN_HITS:
        return None
    good, worst = hits[0]
    return FoundExploit(
        identity=hashlib.sha256(json.dumps(candidate).encode("utf-8", "replace")).hexdigest()[:10],
        task=target.task,
        mechanism=candidate.mechanism,
        prompts=len(target.fresh),
        hits=len(hits),
        reward=fmean(found.reward for _, found in hits),
        good=fmean(target.right(each) for each, _ in hits),
        truth=fmean(found.truth for _, found in hits),
        gap=fmean(found.share - found.truth for _, found in hits),
        example=ExploitExample(
            prompt=good.prompt,
            answer=good.text,
            completion=worst.text,
            reward=worst.reward,
            components=worst.components,
            truth=worst.truth,
        ),
    )
