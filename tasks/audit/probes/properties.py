"""Required properties of every reward, tested on completions of known quality.

A property is tested on every prompt of the sheet, and its worst case counts. A completion without content earns almost
nothing, and the right answer almost everything; each error costs something, and two cost more than one; a change
without meaning for the reader does not change the reward; content weighs more than form; and a reward is the weighted
sum of its specification, the same on every call.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from schemas.documents import Rollout, ScoredRollout
from schemas.tasks import SpecName
from tasks.audit.completions.asked import Asked, Maker
from tasks.audit.gate import Probe
from tasks.audit.reward import RewardFunction
from tasks.commerce.registry import reward_of
from tasks.commerce.reward import Reference

CEILING: Final = 0.15
"""Highest reward of a completion without content: below the weight of any task's main content."""
FLOOR: Final = 0.90
"""Lowest reward of the right answer."""
WRONG: Final = 0.50
"""Highest reward of a well-formed answer with wrong content: its user would be better off without one."""
ERROR_COST: Final = 0.05
"""Lowest cost of an error for which a person would deduct a point."""
FORM_COST: Final = 0.04
"""Lowest cost of a flaw in form, such as chatter around an answer: visible to GRPO, small beside any error."""
AS_GOOD: Final = 0.10
"""Largest reward difference of answers that people would score equally: less than half a point of the five."""
FULL: Final = 0.95
"""Lowest value of each component of the right answer."""
ANCHORED: Final = 0.03
"""Largest difference of a component from its documented grade: none that a rounding in a document makes."""
TOLERANCE: Final = 1e-6
"""Smaller differences are floating-point errors."""
SCORED_AGAIN: Final = 4
"""Completions of each prompt that are scored twice."""


Grades = Mapping[str, Mapping[str, float]]
"""Documented grades: by kind of completion, by component."""


class Probed:
    """One prompt with the rewards of its completions.

    Args:
        asked: The prompt with its right answer.
        rollout: A rollout of it.
        score: The reward under audit.
    """

    def __init__(self, asked: Asked, rollout: Rollout, score: RewardFunction) -> None:
        self.asked = asked
        self.prompt_id = rollout.prompt_id
        self.spec: SpecName = "grounded"
        """Specification of the last reward."""
        self.count = 0
        """Completions scored so far."""
        self.first: list[ScoredRollout] = []
        """The first few of them."""
        self.fault: str | None = None
        """Description of the first reward that violates its specification."""
        self._rollout = rollout
        self._score = score
        self.best = self.reward(asked.right)
        """Reward of the right answer."""

    def reward(self, completion: str, reference: Reference | None = None) -> float:
        """Return a completion's reward; another reference may replace the prompt's own."""
        return self._scored(completion, reference).reward

    def components(self, completion: str, reference: Reference | None = None) -> Mapping[str, float]:
        """Return the components of a completion's reward."""
        return self._scored(completion, reference).components

    def _scored(self, completion: str, reference: Reference | None) -> ScoredRollout:
        changes = {"completion": completion} | ({} if reference is None else {"reference": dict(reference)})
        scored = self._score(self._rollout.model_copy(update=changes))
        self.count += 1
        if len(self.first) < SCORED_AGAIN:
            self.first.append(scored)
        self.fault = self.fault or _fault_of(scored)
        self.spec = scored.spec
        return scored

    def asking(self, prompt: str, reference: Reference) -> "Probed":
        """Return another prompt of the task with its right answer; what it earns is no part of this prompt's count."""
        rollout = self._rollout.model_copy(update={"prompt": prompt, "reference": dict(reference)})
        return Probed(Asked.of(self.asked.task, prompt, reference), rollout, self._score)

    def score_again(self, scored: ScoredRollout) -> ScoredRollout:
        """Score an already scored completion again."""
        return self._score(
            self._rollout.model_copy(update={"completion": scored.completion, "reference": scored.reference})
        )


class Requirement(Protocol):
    """What a reward must do, tested on prompts with their right answers."""

    @property
    def name(self) -> str:
        """Return the probe's name."""
        ...

    def probe(self, prompts: Sequence[Probed]) -> Probe | None:
        """Test the reward; None if no prompt can be tested."""
        ...


@dataclass(frozen=True)
class Property:
    """Required property of a reward."""

    name: str
    measure: Callable[[Probed], Mapping[str, float]]
    """Measures one prompt, by kind of completion; empty if the prompt is insufficient."""
    says: str
    """Description of the measurement, for reports."""
    at_least: float = -math.inf
    at_most: float = math.inf

    def probe(self, prompts: Sequence[Probed]) -> Probe | None:
        """Compare the worst case of all prompts with the bound; None if no prompt can be tested."""
        measured = [self.measure(prompt) for prompt in prompts]
        cases = [(self._excess(value), kind, value) for found in measured for kind, value in found.items()]
        if not cases:
            return None
        excess, kind, value = max(cases)
        return Probe(
            excess <= TOLERANCE,
            f"{kind}: {self.says} {value:.3f} at worst on {sum(map(bool, measured))} prompts, must be {self._bounds()}",
        )

    def _bounds(self) -> str:
        if self.at_least == self.at_most:
            return f"{self.at_most:g}"
        return f"{self.at_least:g} or more" if self.at_most == math.inf else f"{self.at_most:g} or less"

    def _excess(self, value: float) -> float:
        # NaN is the worst of all.
        return math.inf if math.isnan(value) else max(value - self.at_most, self.at_least - value)


def full_marks(by_design: Mapping[str, float]) -> Callable[[Probed], Mapping[str, float]]:
    """Measure each component of the right answer: none may be out of its reach; a penalty must not meet it.

    Args:
        by_design: Grades that are the most that the right answer can have of a component.
    """

    def measure(prompt: Probed) -> Mapping[str, float]:
        weights = reward_of(prompt.asked.task, prompt.spec).weights
        most = by_design if prompt.spec == "grounded" else {}
        found = {name: value / most.get(name, 1) for name, value in prompt.components(prompt.asked.right).items()}
        return {name: value if weights.get(name, 1) > 0 else 1 - value for name, value in found.items()}

    return measure


def ceiling(name: str, make: Maker, most: float = CEILING) -> Property:
    """Require that completions earn at most so much."""

    def measure(prompt: Probed) -> Mapping[str, float]:
        return {kind: prompt.reward(text) for kind, text in make(prompt.asked).items()}

    return Property(name, measure, "earns", at_most=most)


def costs(name: str, make: Maker, least: float = ERROR_COST, most: float = math.inf) -> Property:
    """Require that completions earn less than the right answer, by at least and at most so much."""

    def measure(prompt: Probed) -> Mapping[str, float]:
        return {kind: prompt.best - prompt.reward(text) for kind, text in make(prompt.asked).items()}

    return Property(name, measure, "costs", least, most)


def changes_nothing(name: str, make: Maker) -> Property:
    """Require that completions earn exactly as much as the right answer."""
    return costs(name, make, 0.0, 0.0)


def each_costs_more(name: str, make: Maker, least: float = ERROR_COST) -> Property:
    """Require that each completion earns less than the one before it, the right answer first."""

    def measure(prompt: Probed) -> Mapping[str, float]:
        before, found = prompt.best, dict[str, float]()
        for kind, text in make(prompt.asked).items():
            reward = prompt.reward(text)
            found[kind] = before - reward
            before = reward
        return found

    return Property(name, measure, "earns less than what is better, by", at_least=least)


def earn_the_same(name: str, make: Maker, most: float) -> Property:
    """Require that completions earn about as much as the first of them."""

    def measure(prompt: Probed) -> Mapping[str, float]:
        rewards = {kind: prompt.reward(text) for kind, text in make(prompt.asked).items()}
        first = next(iter(rewards.values()), 0.0)
        return {kind: abs(reward - first) for kind, reward in rewards.items()}

    return Property(name, measure, "differs from what is as good by", at_most=most)


def content_before_form(flawed: Maker, wrong: Maker) -> Property:
    """Require that a right answer in bad form earns more than a wrong one in good form."""

    def measure(prompt: Probed) -> Mapping[str, float]:
        most = max((prompt.reward(text) for text in wrong(prompt.asked).values()), default=0.0)
        return {kind: prompt.reward(text) - most for kind, text in flawed(prompt.asked).items()}

    return Property("content_before_form", measure, "earns more than a wrong answer in good form, by", ERROR_COST)


def unknown_is_not_scored(less: Callable[[Reference], Reference]) -> Property:
    """Require that the right answer stays right by a reference that knows less.

    Args:
        less: Returns a reference with part of its knowledge removed.
    """

    def measure(prompt: Probed) -> Mapping[str, float]:
        return {"the right answer": prompt.reward(prompt.asked.right, less(prompt.asked.reference))}

    return Property("unknown_is_not_scored", measure, "earns", at_least=FLOOR)


def unknown_fields(always_known: Sequence[str]) -> Property:
    """Require that the right answer stays right where one value is unknown, each in turn, and where none is known.

    A reference of one value is the whole question, and is left as it is.

    Args:
        always_known: Names of values without which there is no question.
    """

    def measure(prompt: Probed) -> Mapping[str, float]:
        known = prompt.asked.reference
        fields = known.get("fields")
        inner: Mapping[str, object] = fields if isinstance(fields, Mapping) else known
        names = [name for name, value in inner.items() if value is not None and name not in always_known]
        if len(inner) < 2:
            return {}
        lesser = {f"without {name}": {**inner, name: None} for name in names}
        lesser["without any"] = {**inner, **dict.fromkeys(names)}
        return {
            kind: prompt.reward(prompt.asked.right, {**known, "fields": less} if inner is fields else less)
            for kind, less in lesser.items()
        }

    return Property("unknown_fields", measure, "earns", at_least=FLOOR)


def anchors(grades: Grades, *makers: Maker) -> Property:
    """Require the grades that are documented of single completions.

    Args:
        grades: By kind of completion, the grades of some components of the reward.
        makers: Make the completions; kinds without a grade are left out.
    """

    def measure(prompt: Probed) -> Mapping[str, float]:
        found: dict[str, float] = {}
        for kind, text in (pair for make in makers for pair in make(prompt.asked).items()):
            components = prompt.components(text) if kind in grades else {}
            for name, grade in grades.get(kind, {}).items():
                if name in components:
                    found[f"{kind}, {name}"] = abs(components[name] - grade)
        return found

    return Property("anchors", measure, "differs from its documented grade by", at_most=ANCHORED)


def known_part_counts(make: Maker, less: Callable[[Reference], Reference], at_most: float = WRONG) -> Property:
    """Require that wrong answers stay wrong by a reference that knows less.

    Args:
        make: Makes the wrong answers.
        less: Returns a reference with part of its knowledge removed.
        at_most: The highest reward of such an answer.
    """

    def measure(prompt: Probed) -> Mapping[str, float]:
        known = less(prompt.asked.reference)
        return {kind: prompt.reward(text, known) for kind, text in make(prompt.asked).items()}

    return Property("known_part_counts", measure, "earns", at_most=at_most)


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
    total = math.fsum(weight * scored.components[name] for name, weight in weights.items())
    total = min(max(total, 0.0), 1.0)
    if not abs(scored.reward - total) <= TOLERANCE:
        return f"a reward is {scored.reward:.3f}, and the weighted sum of its components {total:.3f}"
    return None
