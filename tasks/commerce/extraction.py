"""Extraction: a review becomes one JSON object of ten fields.

Components (each in [0, 1]; the shape of the final report's reward, appendix, with the reference's knowledge added):

- `json`: the form. 1 for a JSON object and nothing else, up to 0.7 with anything around it (in proportion to the
  object's share of the text), up to 0.35 where it had to be repaired. Gamed by an object without sense, so it counts
  in full only as far as `types` are right, and a quarter at least. Source: final report, JSON validity.
- `schema`: F1 of the field names against the ten. Gamed by an echo of the field names: counts like `json`.
  Source: final report, schema completeness.
- `types`: share of nine checks passed (`main_complaint` is free text): enumerations, an integer that is no boolean,
  a number in [0, 1], real booleans. Gamed by one fixed object for every review. Source: final report, value validity.
- `values`: mean agreement of the well-typed fields with the reference's known ones: exact for enumerations and
  booleans, by distance for numbers, by shared words for the complaint. Halved where the sentiment contradicts the
  rating and the reference does not. Gamed by the likeliest values, which is worth only what the store's habits are.
  Source: DESIGN, grounded; final report, sentiment mismatch.

What was repaired counts 0.7 times in `schema`, `types` and `values`, so that it stays below a strictly valid object.
"""

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from schemas.documents import Rollout
from schemas.store import Store
from tasks.commerce.commerce_task import CommerceTask, Reference, Reward, Score, fill_unknown
from tasks.commerce.example import Example
from tasks.commerce.parser import parse_object
from tasks.commerce.portuguese_numbers import read_number
from tasks.commerce.review_cases import CAUSE_FIELDS, ReviewCase, review_cases, sentiment_of
from tasks.commerce.sandbox import Databases
from tasks.commerce.text_form import overlap, ramp
from tasks.commerce.wordings import read_wording

WORDING: Final = read_wording("extraction")
DELIVERY: Final[Mapping[bool | None, str]] = {True: "com atraso", False: "no prazo", None: "não registrada"}

SENTIMENTS: Final = ("negative", "neutral", "positive")
CATEGORIES: Final = ("delivery", "product", "seller", "price", "other", "none")
BOOLEANS: Final = ("delivery_issue", "product_issue", "seller_issue", "repeat_intent", "would_recommend")
WEIGHTS: Final = {"json": 0.20, "schema": 0.15, "types": 0.25, "values": 0.40}
RISK_TOLERANCE: Final = 0.05
"""Half of a reference's step: a risk within it is the reference's."""


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples from the store's reviews, in random order."""
    cases = review_cases(store)
    generator.shuffle(cases)
    seen: set[str] = set()
    for case in cases:
        if len(seen) == count:
            return
        prompt = _prompt(case, generator)
        if prompt not in seen:
            seen.add(prompt)
            reference = {"rating": case.rating, "fields": case.known}
            yield Example(
                "extraction", WORDING.system, prompt, reference, case.customer_id, case.order_id, case.review_id
            )


def _prompt(case: ReviewCase, generator: random.Random) -> str:
    instruction = generator.choice(WORDING.instructions)
    return f"{instruction}\nNota: {case.rating}\nEntrega: {DELIVERY[case.delivered_late]}\nAvaliação: {case.text}"


def answer(reference: Reference) -> str:
    """Return the ten fields as compact JSON; what is not known follows from the rating."""
    rating = reference.get("rating") or 3
    known = {name: value for name, value in (reference.get("fields") or {}).items() if value is not None}
    complains = bool(known.get("delivery_issue"))
    content = rating >= 4
    plausible = {
        "sentiment": sentiment_of(rating),
        "sentiment_score": rating,
        "churn_risk": round(1 - rating / 5, 1),
        "delivery_issue": False,
        "product_issue": False,
        "seller_issue": False,
        "main_complaint": "atraso na entrega" if complains else "",
        "complaint_category": "delivery" if complains else "none",
        "repeat_intent": content,
        "would_recommend": content,
    }
    fields = {name: known.get(name, plausible[name]) for name in CAUSE_FIELDS}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:  # noqa: ARG001 - every task's signature
    """Score the form of the object and its agreement with what is known."""
    parsed = parse_object(completion)
    fields = parsed.value or {}
    valid = {name for name, check in CHECKS.items() if name in fields and check(fields[name])}
    types = len(valid) / len(CHECKS)
    present = sum(name in fields for name in CAUSE_FIELDS)
    schema = 2 * present / (len(CAUSE_FIELDS) + len(fields))
    sense = 0.25 + 0.75 * types
    components = {
        "json": parsed.cleanliness * sense,
        "schema": parsed.trust * schema * sense,
        "types": parsed.trust * types,
        "values": _values(fields, valid, reference, parsed.trust),
    }
    return Score(fill_unknown(components, WEIGHTS), parsed.value)


def _values(fields: Mapping[str, Any], valid: set[str], reference: Reference | None, trust: float) -> float | None:
    known = _known(reference)
    if not known:
        return None
    readable = valid | {"main_complaint"} if isinstance(fields.get("main_complaint"), str) else valid
    agreements = [_agreement(name, fields, value) if name in readable else 0.0 for name, value in known.items()]
    contradiction = _contradicts(fields.get("sentiment"), reference) and not _contradicts(
        known.get("sentiment"), reference
    )
    return trust * (0.5 if contradiction else 1.0) * sum(agreements) / len(known)


def _known(reference: Reference | None) -> dict[str, Any]:
    fields = (reference or {}).get("fields") or {}
    return {name: fields[name] for name in CAUSE_FIELDS if fields.get(name) is not None}


def _agreement(name: str, fields: Mapping[str, Any], wanted: Any) -> float:
    found = fields[name]
    if name == "main_complaint":
        return overlap(found, wanted)
    if name == "churn_risk":
        return ramp(abs((read_number(found) or 0.0) - wanted), 0.5, RISK_TOLERANCE)
    if name == "sentiment_score":
        return ramp(abs(found - wanted), 3, 0)
    return float(found == wanted)


def _contradicts(sentiment: object, reference: Reference | None) -> bool:
    rating = (reference or {}).get("rating")
    if rating is None:
        return False
    return (rating <= 2 and sentiment == "positive") or (rating >= 4 and sentiment == "negative")


def is_boolean(value: object) -> bool:
    """Accept real JSON booleans only; the base model echoed the field's name as a string."""
    return isinstance(value, bool)


def is_stars(value: object) -> bool:
    """Accept an integer from 1 to 5; the base model wrote 0.2, and Python counts true as 1."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 5


def is_risk(value: object) -> bool:
    """Accept a number from 0 to 1, with a decimal comma too."""
    number = read_number(value)
    return number is not None and 0 <= number <= 1


def is_sentiment(value: object) -> bool:
    """Accept one of the three sentiments."""
    return isinstance(value, str) and value in SENTIMENTS


CHECKS: Final[Mapping[str, Callable[[object], bool]]] = {
    "sentiment": is_sentiment,
    "sentiment_score": is_stars,
    "churn_risk": is_risk,
    "complaint_category": lambda value: isinstance(value, str) and value in CATEGORIES,
    **dict.fromkeys(BOOLEANS, is_boolean),
}
"""The nine checks of DESIGN's table, by field."""


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return the micro-F1 over (field, value): the known fields but the free text, a risk by its tenth."""
    right = given = known = 0
    for rollout in rollouts:
        wanted = {name: value for name, value in _known(rollout.reference).items() if name in CHECKS}
        fields = parse_object(rollout.completion).value or {}
        known += len(wanted)
        given += sum(fields.get(name) is not None for name in wanted)
        right += sum(_is_right(name, fields, value) for name, value in wanted.items())
    return {"field_f1": 2 * right / (given + known)} if known else {}


def _is_right(name: str, fields: Mapping[str, Any], wanted: Any) -> bool:
    return CHECKS[name](fields.get(name)) and _agreement(name, fields, wanted) == 1.0


TASK: Final = CommerceTask("extraction", WORDING.system, examples, answer, {"grounded": Reward(WEIGHTS, score)}, metric)
