"""Insights: a short analysis of a small table of facts, with an action for each finding.

Components (each in [0, 1]; the final report's structure, action words and length, with the given facts added):

- `facts`: how well three of the given facts (fewer where fewer are given) are quoted: the numbers stand together in
  one line or sentence, in any notation, next to the words and signs that they belong to. Each number that nobody gave
  takes away a third. Gamed by a list of facts without analysis. Source: DESIGN, grounded.
- `structure`: a heading (0.3) and up to three list items (0.7). Gamed by marks without content.
  Source: final report, structure marks.
- `actions`: up to three different verbs of action. Gamed by a heap of verbs. Source: final report, action words.
- `length`: 1 from 150 to 600 characters, falling to 0 at 40 and at 1200. Gamed by padding.
  Source: final report, length.

The last three count in full only as far as `facts` are quoted, and a fifth at least. All are scaled by what makes the
text an analysis: it is Portuguese and no heap of keywords, it is not copied from the prompt, and it is no refusal.
"""

import math
import random
import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from schemas.documents import Rollout
from schemas.store import Store
from tasks.commerce.commerce_task import CommerceTask, Reference, Reward, Score, fill_unknown
from tasks.commerce.example import Example
from tasks.commerce.lexicons import read_lexicon
from tasks.commerce.portuguese_numbers import numbers_in
from tasks.commerce.sandbox import Databases
from tasks.commerce.store_facts import fact_tables
from tasks.commerce.text_form import (
    MAX_CHARACTERS,
    chatters,
    fluency,
    fold,
    labels,
    originality,
    ramp,
    refuses,
    share_present,
    words,
)
from tasks.commerce.wordings import read_wording

WORDING: Final = read_wording("insights")
WEIGHTS: Final = {"facts": 0.40, "structure": 0.20, "actions": 0.20, "length": 0.20}
ENOUGH: Final = 3
"""Facts, list items and verbs of action that an analysis needs."""

_ACTIONS: Final = tuple(fold(stem) for stem in read_lexicon("action_verbs"))
_HEADING: Final = re.compile(r"^[ \t]*(?:#{1,4}[ \t]*\w|\*\*\w)", re.MULTILINE)
_ITEM: Final = re.compile(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+\w.{9,}", re.MULTILINE)
_ORDINAL: Final = re.compile(r"^[ \t]*\d{1,2}[.)][ \t]", re.MULTILINE)
_SEGMENT: Final = re.compile(r"\n|(?<=[.!?;])\s")
MAX_SEGMENTS: Final = 60


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples on small tables of the store's numbers."""
    for table in fact_tables(store, generator, count):
        prompt = f"{generator.choice(WORDING.instructions)}\n{table.text}"
        yield Example("insights", WORDING.system, prompt, {"facts": list(table.facts)})


def answer(reference: Reference) -> str:
    """Return a heading and an item for each of the first facts, with an action that suits it."""
    facts = [str(fact) for fact in reference.get("facts") or []][:ENOUGH] or ["Sem destaques no período"]
    return "\n".join(["## Destaques do período", *(f"- {fact}. {_action(fact)}" for fact in facts)])


def _action(fact: str) -> str:
    if "atraso" in fact:
        return "Recomendo renegociar os prazos com a transportadora."
    if "nota" in fact:
        return "É preciso melhorar a experiência dos clientes."
    return "Vale priorizar o estoque e manter as campanhas."


def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:  # noqa: ARG001 - every task's signature
    """Score the facts quoted, the structure, the actions and the length."""
    text = completion.strip()[:MAX_CHARACTERS]
    text_words = words(text)
    known = [fact for fact in (reference or {}).get("facts") or [] if fact is not None]
    quoted = _facts(known, text, prompt) if known else None
    ground = 1.0 if quoted is None else 0.2 + 0.8 * quoted
    analysis = 0.0 if refuses(text) else fluency(text_words) * originality(text_words, prompt, WORDING.system)
    own = ground * analysis * (0.7 if chatters(text) else 1.0)
    components = {
        "facts": None if quoted is None else analysis * quoted,
        "structure": own * _structure(text),
        "actions": own * _actions(text_words),
        "length": own * ramp(len(completion.strip()), 40, 150) * ramp(len(completion.strip()), 1200, 600),
    }
    return Score(fill_unknown(components, WEIGHTS))


def _facts(facts: Sequence[Any], text: str, prompt: str) -> float:
    segments = [(words(segment), set(numbers_in(segment))) for segment in _SEGMENT.split(text)[:MAX_SEGMENTS]]
    grades = [max(_quoted(fact, *segment) for segment in segments) for fact in facts]
    coverage = min(sum(grades) / min(ENOUGH, len(grades)), 1.0)
    return coverage * (2 / 3) ** len(invented_numbers(facts, text, prompt))


def _quoted(fact: Any, segment_words: Sequence[str], segment_numbers: set[float]) -> float:
    """Grade one fact in one line or sentence: its numbers, and the words that they belong to."""
    wanted = _numbers_of(fact)
    found = sum(_among(number, segment_numbers) for number in wanted) / len(wanted) if wanted else 1.0
    if not found:
        return 0.0
    near = share_present(_labels_of(fact), segment_words)
    return found * (0.4 + 0.6 * near) if wanted else ramp(near, 0.5, 1.0)


def invented_numbers(facts: Sequence[Any], text: str, prompt: str) -> set[float]:
    """Return the numbers of a text that neither the facts nor the prompt hold; the ordinals of a list are none."""
    given = {number for fact in facts for number in _numbers_of(fact)}.union(_numbers_of(prompt))
    return {number for number in numbers_in(_ORDINAL.sub("", text)) if not _among(number, given)}


@lru_cache(maxsize=4_096)
def _numbers_of(fact: str | float) -> tuple[float, ...]:
    return tuple(numbers_in(fact)) if isinstance(fact, str) else (float(fact),)


@lru_cache(maxsize=4_096)
def _labels_of(fact: str | float) -> tuple[str, ...]:
    return tuple(labels(str(fact)))


def _among(number: float, others: Collection[float]) -> bool:
    return number in others or any(math.isclose(number, other, rel_tol=1e-9, abs_tol=1e-9) for other in others)


def _structure(text: str) -> float:
    items = len(_ITEM.findall(text))
    return 0.3 * bool(_HEADING.search(text)) + 0.7 * min(items, ENOUGH) / ENOUGH


def _actions(text_words: Sequence[str]) -> float:
    used = {stem for word in set(text_words) for stem in _ACTIONS if word.startswith(stem)}
    return min(len(used), ENOUGH) / ENOUGH


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return the share of analyses that quote three facts rightly, that invent no number, and that do both."""
    known = [rollout for rollout in rollouts if rollout.reference and rollout.reference.get("facts")]
    if not known:
        return {}
    quoting, faithful = zip(*(_constraints(rollout) for rollout in known), strict=True)
    both = sum(quotes and keeps for quotes, keeps in zip(quoting, faithful, strict=True))
    return {
        "quotes_facts": sum(quoting) / len(known),
        "no_invented_number": sum(faithful) / len(known),
        "all_kept": both / len(known),
    }


def _constraints(rollout: Rollout) -> tuple[bool, bool]:
    facts = (rollout.reference or {})["facts"]
    text = rollout.completion.strip()[:MAX_CHARACTERS]
    given = {number for fact in facts for number in _numbers_of(fact)}
    found = {number for number in given if _among(number, set(numbers_in(text)))}
    faithful = not invented_numbers(facts, text, rollout.prompt) and bool(text)
    return len(found) >= min(ENOUGH, len(given)), faithful


TASK: Final = CommerceTask("insights", WORDING.system, examples, answer, {"grounded": Reward(WEIGHTS, score)}, metric)
