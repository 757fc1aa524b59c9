"""Extraction that carries its evidence: ten fields of a review, whose complaint is copied from it.

`grounded`, components in [0, 1]:

- `json`: the form. 1 for a JSON object and nothing else, less for chatter, a fence, a repair (`Reading`). Gamed by
  an object without meaning, so it counts in full only as far as `types` are right, and a quarter at least.
- `schema`: F1 of the field names against the ten. Gamed by an echo of the field names: counts like `json`.
- `types`: share of nine checks passed. Gamed by one fixed object for every review.
- `values`: the square of the mean agreement of the fields with the reference's known ones: exact for enumerations and
  booleans, by distance for numbers, for the complaint by the words of the review that it shares with those that are
  known to make it, and by how few others it has; squared, because the reader of a half-right object cannot know which
  half. A complaint that is no quotation of the review (`quotation`), or that nobody made, leaves a fifth of all values,
  another quotation up to all of them, a missing one 0.6. An issue that is none leaves 0.85; fields that contradict each
  other a quarter, 0.7 where people do feel both. Gamed by the likeliest values, and where nobody knows which words
  complain by any of the review.

The first three are paid in full only as far as the `values` are right, and a quarter at least. `schema`, `types` and
`values` are multiplied by the trust in a repaired object, and by 0.43 if text stands beside it (`parser`).
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from tasks.commerce.extraction.quotation import COMPLAINT, fault_of, review_of, shared
from tasks.commerce.reward import Reference, Reward, Score, fill_unknown
from tasks.commerce.text.json_fields import (
    CAUSE_FIELDS,
    REPORT_WEIGHTS,
    is_boolean,
    is_sentiment,
    is_share,
    is_stars,
    read_share,
    report_components,
    sentiment_contradicts,
    sentiment_of,
)
from tasks.commerce.text.parser import parse_object
from tasks.commerce.text.text_form import KEPT_PROMPTS, ramp

WEIGHTS: Final = {"json": 0.12, "schema": 0.08, "types": 0.15, "values": 0.65}
INVENTED, HIDDEN, FALSE_ALARM = 0.2, 0.6, 0.85
"""Shares of the values that an answer keeps whose complaint is not the review's, or is missing, and for each issue that
it claims and that is none."""
ENOUGH: Final = 0.9
"""Shared part of two quotations from which on they are one: a word more or less of a dozen says nothing else."""
FORM_ALONE: Final = 0.25
"""Share of the form that an answer is paid for whose values are all wrong, or whose types are."""
CATEGORIES: Final = frozenset({"delivery", "product", "seller", "price", "other", "none"})
CATEGORIES_OF_ISSUES: Final = ("delivery", "product", "seller")
ISSUES: Final = tuple(f"{name}_issue" for name in CATEGORIES_OF_ISSUES)
CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "sentiment": is_sentiment,
    "sentiment_score": is_stars,
    "churn_risk": is_share,
    "complaint_category": lambda value: isinstance(value, str) and value in CATEGORIES,
    **dict.fromkeys((*ISSUES, "repeat_intent", "would_recommend"), is_boolean),
}
READABLE: Final[Mapping[str, Callable[[Any], bool]]] = {**CHECKS, COMPLAINT: lambda value: isinstance(value, str)}
RISK_TOLERANCE: Final = 0.05  # Half of a reference's step: a risk within it counts as equal.
CONTRADICTED, UNUSUAL = 0.25, 0.7
ONE_STAR_OFF, NEXT_MOOD = 0.9, 0.75
"""Agreement of stars one off a real review's, as nobody reads exact stars in its words, and of the mood beside them."""


class Clash(NamedTuple):
    """Two fields that cannot both be right, or seldom are."""

    first: str
    second: str
    kept: float
    holds: Callable[[Any, Any], bool]


def _of_issue(category: str) -> Callable[[bool, str], bool]:
    return lambda issue, named: named == "none" if issue else named == category


def _of_intention(sentiment: str, intends: bool) -> bool:
    return sentiment == ("negative" if intends else "positive")


def _of_risk(sentiment: str, risk: float) -> bool:
    share = read_share(risk) or 0.0
    return not 0.3 < share < 0.7 and _of_intention(sentiment, share <= 0.3)


CONTRADICTIONS: Final = (
    Clash("sentiment", "sentiment_score", CONTRADICTED, sentiment_contradicts),
    *(Clash(f"{name}_issue", "complaint_category", CONTRADICTED, _of_issue(name)) for name in CATEGORIES_OF_ISSUES),
    Clash(COMPLAINT, "complaint_category", UNUSUAL, lambda text, name: bool(text) == (name == "none")),
    Clash("sentiment", "repeat_intent", UNUSUAL, _of_intention),
    Clash("sentiment", "would_recommend", UNUSUAL, _of_intention),
    Clash("sentiment", "churn_risk", UNUSUAL, _of_risk),
)
_CONTRADICTING: Final = tuple(dict.fromkeys(name for rule in CONTRADICTIONS for name in (rule.first, rule.second)))


@lru_cache(maxsize=KEPT_PROMPTS)
def _contradictions(*values: Any) -> tuple[Clash, ...]:
    """Return the rules that values of the contradicting fields break, in their order."""
    found = dict(zip(_CONTRADICTING, values, strict=True))
    pairs = ((rule, found[rule.first], found[rule.second]) for rule in CONTRADICTIONS)
    return tuple(rule for rule, one, other in pairs if None not in (one, other) and rule.holds(one, other))


def contradiction_in(fields: Mapping[str, Any]) -> str | None:
    """Return the names of two fields that cannot both be right, or a complaint beside no category; None without any."""
    broken = _contradictions(*map(fields.get, _CONTRADICTING))
    unsound = (rule for rule in broken if rule.kept == CONTRADICTED or (rule.first == COMPLAINT and fields[COMPLAINT]))
    return next((f"{rule.first} e {rule.second}" for rule in unsound), None)


def _kept_of_contradictions(
    readable: Mapping[str, Any], wanted: Mapping[str, Any], rating: int | None
) -> tuple[Mapping[str, float], float]:
    """Return what contradictions that the reference has not leave of some fields, and what they leave of all.

    A contradiction with a field that nobody knows costs of all of them: it might be either that is wrong.
    """
    kept: dict[str, float] = {}
    kept_of_all, known = 1.0, _contradictions(*map(wanted.get, _CONTRADICTING))
    for rule in _contradictions(*map(readable.get, _CONTRADICTING)):
        if rule in known:
            continue
        if (wanted.get(rule.first) is None) != (wanted.get(rule.second) is None):
            kept_of_all *= max(rule.kept, UNUSUAL)
        for name in (rule.first, rule.second):
            kept[name] = min(kept.get(name, 1.0), rule.kept)
    found, true = (sentiment_contradicts(fields.get("sentiment"), rating) for fields in (readable, wanted))
    return kept, kept_of_all * 0.5 if found and not true else kept_of_all


def _agreements(readable: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, float]:
    """Return how far each known field but the complaint agrees, in [0, 1]: a risk and stars by their distance."""
    agree: dict[str, float] = {}
    for name, value in wanted.items():
        found = readable.get(name)
        if value is None or name == COMPLAINT:
            continue
        agree[name] = float(found == value)
        if found not in (None, value) and name == "churn_risk":
            agree[name] = ramp(abs((read_share(found) or 0.0) - value), 0.5, RISK_TOLERANCE)
        elif found not in (None, value) and name == "sentiment_score":
            agree[name] = ramp(abs(found - value), 2, 0)
    stars: int | None = readable.get("sentiment_score")
    rating: int | None = None if wanted.get("churn_risk") is not None else wanted.get("sentiment_score")
    if stars is not None and rating is not None and abs(stars - rating) == 1:
        # All that is known of mood and stars is a rating.
        agree["sentiment_score"] = ONE_STAR_OFF
        mood, true = readable.get("sentiment"), wanted.get("sentiment")
        beside = {mood, true} != {"positive", "negative"} and None not in (mood, true) and mood == sentiment_of(stars)
        agree |= {"sentiment": NEXT_MOOD} if beside and mood != true else {}
    return agree


def score(completion: str, prompt: str, reference: Reference | None, _: object) -> Score:
    """Score the form of the object and its agreement with the known facts."""
    parsed = parse_object(completion)
    fields = parsed.value or {}
    alone = not parsed.needed and fields.keys() <= READABLE.keys()
    trust = float(parsed.value is not None) if alone else parsed.trust_alone(READABLE)
    readable = {name: value for name, value in fields.items() if (holds := READABLE.get(name)) and holds(value)}
    types = (len(readable) - (COMPLAINT in readable)) / len(CHECKS)
    values = _values(readable, reference, review_of(prompt)) if reference else None
    paid = 1.0 if values is None else FORM_ALONE + (1 - FORM_ALONE) * values
    sense = (FORM_ALONE + (1 - FORM_ALONE) * types) * paid
    present = len(READABLE) if len(readable) == len(READABLE) else sum(map(fields.__contains__, READABLE))
    components: dict[str, Any] = {
        "json": parsed.cleanliness * sense,
        "schema": trust * sense * 2 * present / (len(READABLE) + len(fields)),
        "types": trust * types * paid,
        "values": None if values is None else trust * values,
    }
    return Score(fill_unknown(components, WEIGHTS) if values is None else components, parsed.value)


def _values(readable: Mapping[str, Any], reference: Reference, review: str) -> float | None:
    wanted = reference.get("fields") or {}
    found = _agreements(readable, wanted)
    complaint = _complaint_agreement(readable.get(COMPLAINT, ""), reference, review)
    if complaint is not None:
        found[COMPLAINT] = complaint if COMPLAINT in readable else 0.0
    if not found:
        return None
    kept, kept_of_all = _kept_of_contradictions(readable, wanted, reference.get("rating"))
    for name in ISSUES:
        if readable.get(name) is True and wanted.get(name) is False:
            kept_of_all *= FALSE_ALARM
    if found.get(COMPLAINT, 1.0) < 1:
        named = bool(readable.get(COMPLAINT))
        kept_of_all *= INVENTED + (1 - INVENTED) * found[COMPLAINT] if named else HIDDEN
    total = sum([agreement * kept.get(name, 1.0) for name, agreement in found.items()] if kept else found.values())
    return float(kept_of_all * (total / len(found)) ** 2)


def _complaint_agreement(complaint: str, reference: Reference, review: str) -> float | None:
    """Return how far a complaint is the reference's, in [0, 1]; None where a quotation is all that can be asked."""
    wanted = (reference.get("fields") or {}).get(COMPLAINT)
    if fault_of(complaint, review) is not None:
        return 0.0
    if wanted is None:
        return None
    if not wanted or not complaint:
        return float(not wanted and not complaint)
    told = reference.get("complaint_words")
    return ramp(shared(complaint, told, review), 0, ENOUGH) if told else 1.0


REWARD: Final = Reward(WEIGHTS, score)

_RATING: Final = re.compile(r"^Nota: ([1-5])\b", re.MULTILINE | re.ASCII)


def v42_score(completion: str, prompt: str, reference: Reference | None, _: object) -> Score:
    """Score by the V4.2 report, which knows no right answer, continuous where a part can be.

    - `json`, .30: trust in the object. Gamed by any object.
    - `schema`, .30: share of the ten fields that are present. Gamed by one fixed object.
    - `types`, .40: share of the nine checks passed. Gamed likewise.
    - `mismatch`, -.20: the sentiment contradicts the rating, of the reference or else the prompt's `Nota:`.
    """
    parsed = parse_object(completion)
    fields = parsed.value or {}
    components = report_components(parsed.trust, fields, CAUSE_FIELDS, CHECKS)
    printed = _RATING.search(prompt)
    rating = (reference or {}).get("rating") or (int(printed[1]) if printed else None)
    components["mismatch"] = float(sentiment_contradicts(fields.get("sentiment"), rating))
    return Score(components, parsed.value)


V42_REWARD: Final = Reward({**REPORT_WEIGHTS, "mismatch": -0.20}, v42_score)
