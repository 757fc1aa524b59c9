"""Required properties of every reward, tested on completions of known quality.

A property is tested on every prompt of the sheet, and its worst case counts. A completion without content earns almost
nothing, and the right answer almost everything; each error costs something, and two cost more than one; a change
without meaning for the reader does not change the reward; content weighs more than form; and a reward is the weighted
sum of its specification, the same on every call.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from schemas.documents import Rollout, ScoredRollout
from schemas.references import REFERENCES
from schemas.tasks import TaskName
from tasks.audit.completions import analyses, any_task, json_objects, pushes, queries
from tasks.audit.completions.asked import Asked, Maker
from tasks.audit.reward import RewardFunction
from tasks.commerce.commerce_task import Reference
from tasks.commerce.json_fields import sentiment_contradicts
from tasks.commerce.registry import TASKS
from tasks.commerce.store_copies import MAX_ORDERS

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
TOLERANCE: Final = 1e-6
"""Smaller differences are floating-point errors."""
SCORED_AGAIN: Final = 4
"""Completions of each prompt that are scored twice."""

_ALWAYS_KNOWN: Final = ("sentiment", "sentiment_score")
"""Fields that a rating reveals, in a real store too."""
_LESS: Final[Mapping[TaskName, Callable[[Reference], Reference]]] = {
    "extraction": lambda known: {**known, "fields": {name: known["fields"][name] for name in _ALWAYS_KNOWN}},
    "insights": lambda known: {**known, "facts": known["facts"][: analyses.FACTS]},
    "push": lambda known: {**known, "offer": None},
    "sentiment": lambda known: {**known, "score": None},
}
"""The reference with part of its knowledge removed."""


@dataclass(frozen=True)
class Probe:
    """Result of one property on all prompts of a task."""

    passed: bool
    detail: str
    """The worst case, and the bound that applies."""


class Probed:
    """One prompt with the rewards of its completions.

    Args:
        asked: The prompt with its right answer.
        rollout: A rollout of it.
        score: The reward under audit.
    """

    def __init__(self, asked: Asked, rollout: Rollout, score: RewardFunction) -> None:
        self.asked = asked
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
        changes = {"completion": completion} | ({} if reference is None else {"reference": dict(reference)})
        scored = self._score(self._rollout.model_copy(update=changes))
        self.count += 1
        if len(self.first) < SCORED_AGAIN:
            self.first.append(scored)
        self.fault = self.fault or _fault_of(scored)
        return scored.reward

    def score_again(self, scored: ScoredRollout) -> ScoredRollout:
        """Score an already scored completion again."""
        return self._score(
            self._rollout.model_copy(update={"completion": scored.completion, "reference": scored.reference})
        )


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


def _ceiling(name: str, make: Maker, most: float = CEILING) -> Property:
    def measure(prompt: Probed) -> Mapping[str, float]:
        return {kind: prompt.reward(text) for kind, text in make(prompt.asked).items()}

    return Property(name, measure, "earns", at_most=most)


def _costs(name: str, make: Maker, least: float = ERROR_COST, most: float = math.inf) -> Property:
    def measure(prompt: Probed) -> Mapping[str, float]:
        return {kind: prompt.best - prompt.reward(text) for kind, text in make(prompt.asked).items()}

    return Property(name, measure, "costs", least, most)


def _changes_nothing(name: str, make: Maker) -> Property:
    return _costs(name, make, 0.0, 0.0)


def _each_costs_more(name: str, make: Maker, least: float = ERROR_COST) -> Property:
    def measure(prompt: Probed) -> Mapping[str, float]:
        before, found = prompt.best, dict[str, float]()
        for kind, text in make(prompt.asked).items():
            reward = prompt.reward(text)
            found[kind] = before - reward
            before = reward
        return found

    return Property(name, measure, "earns less than what is better, by", at_least=least)


def _earn_the_same(name: str, make: Maker, most: float) -> Property:
    def measure(prompt: Probed) -> Mapping[str, float]:
        rewards = {kind: prompt.reward(text) for kind, text in make(prompt.asked).items()}
        first = next(iter(rewards.values()), 0.0)
        return {kind: abs(reward - first) for kind, reward in rewards.items()}

    return Property(name, measure, "differs from what is as good by", at_most=most)


def _content_before_form(flawed: Maker, wrong: Maker) -> Property:
    def measure(prompt: Probed) -> Mapping[str, float]:
        most = max((prompt.reward(text) for text in wrong(prompt.asked).values()), default=0.0)
        return {kind: prompt.reward(text) - most for kind, text in flawed(prompt.asked).items()}

    return Property("content_before_form", measure, "earns more than a wrong answer in good form, by", ERROR_COST)


def _less_known(prompt: Probed) -> Mapping[str, float]:
    """Reduce the reference: unknown facts are not scored, so the right answer stays right."""
    return {"the right answer": prompt.reward(prompt.asked.right, _less(prompt.asked))}


def _wrong_by_what_is_known(make: Maker) -> Property:
    def measure(prompt: Probed) -> Mapping[str, float]:
        less = _less(prompt.asked)
        return {kind: prompt.reward(text, less) for kind, text in make(prompt.asked).items()}

    return Property("known_part_counts", measure, "earns", at_most=WRONG)


def _less(asked: Asked) -> Reference:
    return _LESS[asked.task](asked.reference)


def _wrong_types(prompt: Probed) -> Mapping[str, float]:
    """Compare each value of a wrong type with null: both carry no information."""
    found: dict[str, float] = {}
    for wrong in json_objects.wrong_types(prompt.asked).values():
        rewards = {kind: prompt.reward(text) for kind, text in wrong.items()}
        null = next(iter(rewards.values()))
        found |= {kind: abs(reward - null) for kind, reward in rewards.items()}
    return found


def _one_store(prompt: Probed) -> Mapping[str, float]:
    """Search for a number of orders such that a query that is right only on stores of that size earns everything.

    No two copies of a store have the same number of orders: if there is such a number, only one copy was queried.
    """

    def cost(comparison: str, orders: int) -> float:
        return prompt.best - prompt.reward(queries.for_stores_of(prompt.asked, comparison, orders))

    fewest, most = 0, MAX_ORDERS
    while fewest < most:
        middle = (fewest + most + 1) // 2
        fewest, most = (middle, most) if cost(">=", middle) <= TOLERANCE else (fewest, middle - 1)
    return {"right on one store only": cost("=", fewest)}


def _order_of_rows(prompt: Probed) -> Mapping[str, float]:
    ways = queries.sorted_both_ways(prompt.asked)
    # A single row has no order.
    if not ways or prompt.best - prompt.reward(queries.first_row(prompt.asked)) <= TOLERANCE:
        return {}
    return {"rows in another order": max(prompt.best - prompt.reward(query) for query in ways.values())}


_EVERY_TASK: Final = (
    Property("reference_answer", lambda prompt: {"the right answer": prompt.best}, "earns", at_least=FLOOR),
    _ceiling("nothing_said", any_task.nothing_said),
    _ceiling("refusal", any_task.refusals),
    _ceiling("prompt_echo", any_task.echoes),
    _ceiling("format_echo", any_task.formats),
    _ceiling("keyword_stuffing", any_task.stuffing),
    _ceiling("other_language", any_task.other_languages),
    _costs("cut_off", any_task.first_half),
    _costs("chatter", any_task.chatter, FORM_COST),
)
_PARTLY_KNOWN: Final = Property("unknown_is_not_scored", _less_known, "earns", at_least=FLOOR)
_JSON: Final = (
    *_EVERY_TASK,
    _changes_nothing("same_object", json_objects.same_object),
    Property("wrong_type", _wrong_types, "differs from null by", at_most=0),
    _costs("missing_field", json_objects.missing_fields),
    _costs("wrong_value", json_objects.wrong_values),
    _each_costs_more("errors", json_objects.errors),
    _ceiling("no_values", json_objects.without_values),
    _ceiling("both_answers", json_objects.both_answers),
    _ceiling("wrong_answer", json_objects.wrong_answer, WRONG),
    _costs("more_fields", json_objects.more_fields, 0.0),
    _costs("repaired", json_objects.broken),
    _costs("unfinished", json_objects.cut_off),
    _content_before_form(json_objects.flawed_form, json_objects.wrong_answer),
)
_PORTUGUESE_NUMBER: Final = _changes_nothing("portuguese_number", json_objects.portuguese_numbers)
_CONTRADICTION: Final = _ceiling("contradiction", json_objects.contradictions, WRONG)
_PROPERTIES: Final[Mapping[TaskName, tuple[Property, ...]]] = {
    "extraction": (
        *_JSON,
        _PARTLY_KNOWN,
        _PORTUGUESE_NUMBER,
        _wrong_by_what_is_known(json_objects.wrong_answer),
        _costs("same_complaint", json_objects.same_complaint, 0.0, FORM_COST),
        _ceiling("one_field", json_objects.one_field),
        _each_costs_more("grave_error", json_objects.grave_error),
    ),
    "sentiment": (
        *_JSON,
        _PARTLY_KNOWN,
        _wrong_by_what_is_known(json_objects.wrong_answer),
        _CONTRADICTION,
    ),
    "churn": (
        *_JSON,
        _PORTUGUESE_NUMBER,
        _CONTRADICTION,
        _costs("worthless_reason", json_objects.worthless_reasons),
    ),
    "sql_qa": (
        *_EVERY_TASK,
        _changes_nothing("same_query", queries.same_query),
        _ceiling("no_result", queries.no_results),
        _ceiling("write", queries.writes),
        _ceiling("wrong_answer", queries.wrong_answer, WRONG),
        _costs("wrong_result", queries.wrong_results),
        _costs("without_condition", queries.without_condition),
        Property("order_of_rows", _order_of_rows, "costs", at_least=ERROR_COST),
        Property("several_stores", _one_store, "costs", at_least=ERROR_COST),
        _content_before_form(any_task.chatter, queries.wrong_answer),
    ),
    "insights": (
        *_EVERY_TASK,
        _PARTLY_KNOWN,
        _changes_nothing("same_analysis", analyses.same_analysis),
        _earn_the_same("other_words", analyses.other_words, AS_GOOD),
        _ceiling("pasted_table", analyses.pasted),
        _ceiling("wrong_answer", analyses.wrong_answer, WRONG),
        _costs("untrue_number", analyses.untrue),
        _ceiling("english", analyses.in_english, WRONG),
        _costs("shallow", analyses.shallow),
        _costs("padding", analyses.padded),
        _content_before_form(any_task.chatter, analyses.wrong_answer),
    ),
    "push": (
        *_EVERY_TASK,
        _PARTLY_KNOWN,
        _wrong_by_what_is_known(pushes.wrong_answer),
        _changes_nothing("same_push", pushes.same_push),
        _changes_nothing("at_limit", pushes.at_limit),
        _earn_the_same("other_calls", pushes.other_calls, FORM_COST),
        _ceiling("english", pushes.in_english, WRONG),
        _ceiling("wrong_answer", pushes.wrong_answer, WRONG),
        _costs("no_call", pushes.no_call, FORM_COST),
        _costs("formal", pushes.formal),
        _each_costs_more("too_long", pushes.too_long),
        _costs("missing_fact", pushes.without_facts),
        _costs("false_offer", pushes.untrue),
        _costs("several_pushes", pushes.several),
        _content_before_form(any_task.chatter, pushes.wrong_answer),
    ),
}


def run_probes(task: TaskName, rollouts: Sequence[Rollout], score: RewardFunction) -> dict[str, Probe]:
    """Test the reward of a task on each prompt with a sufficient reference.

    Args:
        task: The task.
        rollouts: Rollouts of it; one for each prompt is enough.
        score: The reward under audit.

    Returns:
        The probes by name; if no reference is sufficient, one failed probe.
    """
    by_prompt = {rollout.prompt_id: rollout for rollout in rollouts}
    prompts = [
        Probed(Asked.of(task, rollout.prompt, rollout.reference), rollout, score)
        for rollout in by_prompt.values()
        if rollout.reference is not None and _tells_enough(task, rollout.reference)
    ]
    if not prompts:
        return {"reference_answer": Probe(False, "no reference tells enough to probe the reward with")}
    probes = {probed.name: probe for probed in _PROPERTIES[task] if (probe := probed.probe(prompts)) is not None}
    return probes | {"weighted_sum": _weighted_sum(prompts), "repeatable": _repeatable(prompts)}


def _tells_enough(task: TaskName, reference: Reference) -> bool:
    """Return whether a wrong answer can be derived, and the right one does not contradict itself."""
    if any(reference[name] is None for name in REFERENCES[task].model_fields if name != "rating"):
        return False
    match task:
        case "extraction":
            return all(reference["fields"].get(name) is not None for name in _ALWAYS_KNOWN)
        case "sentiment":
            return not sentiment_contradicts(reference["polarity"], reference["score"])
        case "insights":
            facts = reference["facts"]
            return len(facts) >= analyses.FACTS and all(": " in str(fact) for fact in facts)
        case _:
            return True


def _weighted_sum(prompts: Sequence[Probed]) -> Probe:
    """Compare all rewards with the weighted sum of their specification."""
    fault = next((prompt.fault for prompt in prompts if prompt.fault), None)
    count = sum(prompt.count for prompt in prompts)
    return Probe(not fault, fault or f"{count} rewards are the weighted sum of their components, all from 0 to 1")


def _fault_of(scored: ScoredRollout) -> str | None:
    weights = TASKS[scored.task].rewards[scored.spec].weights
    if scored.components.keys() != weights.keys():
        return f"the components are {', '.join(scored.components)}, and the specification's {', '.join(weights)}"
    for name, value in scored.components.items():
        if not 0 <= value <= 1:
            return f"component {name} is {value:.3f}, which is not from 0 to 1"
    total = math.fsum(weight * scored.components[name] for name, weight in weights.items())
    total = min(max(total, 0.0), 1.0)
    if not abs(scored.reward - total) <= TOLERANCE:
        return f"a reward is {scored.reward:.3f}, and the weighted sum of its components {total:.3f}"
    return None


def _repeatable(prompts: Sequence[Probed]) -> Probe:
    """Score a few completions of each prompt again, the last first: results must not depend on earlier calls."""
    checked = 0
    for prompt in reversed(prompts):
        for scored in reversed(prompt.first):
            again = prompt.score_again(scored)
            checked += 1
            if not abs(again.reward - scored.reward) <= TOLERANCE:
                return Probe(False, f"a completion earned {scored.reward:.3f} and, asked again, {again.reward:.3f}")
    return Probe(True, f"{checked} completions earned the same when they were asked about again")
