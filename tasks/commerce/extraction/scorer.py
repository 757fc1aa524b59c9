"""Extraction: a review becomes one JSON object of ten fields.

`grounded`, components in [0, 1]:

- `json`: the form. 1 for a JSON object and nothing else, up to 0.9 in a code fence, up to 0.7 with anything else around
  it (in proportion to the object's share of the text), up to 0.35 if it had to be repaired, next to nothing if it
  repeats itself (`parser.FORM`). Gamed by an object without meaning, so it counts in full only as far as `types` are
  right, and a quarter at least. Source: V4.2 report, JSON validity.
- `schema`: F1 of the field names against the ten. Gamed by an echo of the field names: counts like `json`. Source:
  V4.2 report, schema completeness.
- `types`: share of nine checks passed (`main_complaint` is free text): enumerations, an integer that is no boolean, a
  number in [0, 1], real booleans. Gamed by one fixed object for every review. Source: V4.2 report, value validity.
- `values`: the square of the mean agreement of the well-typed fields with the reference's known ones (of a real review
  those that its stars and its plain words decide, `review_reading`): exact for enumerations and booleans, by distance
  for numbers, by topic for the complaint (`complaints`); squared, because the reader of a half-right object cannot
  know which half. Two fields of one answer that contradict each other keep a quarter of their agreement, or 0.7 of it
  if people do feel both (`CONTRADICTIONS`), unless the reference says the same. Halved if the sentiment contradicts
  the rating and the reference does not. Where stars are all that is known of the mood, of a real review, one star off
  costs a tenth of the field, and the next mood with it a quarter. A complaint that the reference does not have leaves a
  fifth of all values, and a missing one 0.6: it is what a reader acts on. One that names the reference's topic and
  another is right where the review has a sign of both or says it in these words; one that names only another which the
  review plainly makes, in its own words, has 0.6. It is read by parts, from one mark or `e`, `mas`, `pois` to the next:
  a part that names the topic may have the topic's words, another has to be the review's, and either what the review
  denies or affirms. Each word beyond, of the review's, their synonyms and the lists, costs half, and a tenth where it
  stands alone among the review's own and gives no cause; a number that is not
  the review's, a repetition or a pasted review 0.6; a denial, an end or a shopper to blame all; length is free up to
  100 characters and leaves nothing at 200 (`complaint_wording`). An issue that is none, or of which the
  review has no word, leaves 0.85, a contradiction with an unknown field 0.7. Gamed by the likeliest values, which is
  worth only what the store's habits are: one fixed object of praise earns 0.68 a review on a simulated store, where
  half of the reviews are praise alone, and 0.49 on a real sample, as unread prompts do; and by a risk
  that no real reference knows. Source: V4.2 report, sentiment mismatch.

The first three are paid in full only as far as the `values` are right, and a quarter at least: a well-formed answer to
another review is worth little.

`schema`, `types` and `values` are multiplied by 0.7 for a repaired object, 0.5 for a truncated one, 0.4 for one that
occurs twice, and 0.1 for one that contradicts itself by repeating a key (`parser.TRUST`); and by 0.43 if text stands
beside the object or in fields that nobody asked for, where anything could be claimed (`parser.NOT_ALONE`).

`v4.2`, the V4.2 report's appendix with its hotfixes; it knows no more of the answer than the rating:

- `json`: 1 for a readable dict, whatever surrounds it; less if it was repaired or repeats itself.
- `schema`: fields present, of ten.
- `types`: checks passed, of nine. The star rating is `isinstance(v, int) and not isinstance(v, bool)`.
- `mismatch`, a penalty: 1 if the sentiment contradicts the rating, of the reference or else the prompt's `Nota:`.

Gamed by one fixed object, which earns everything: the reason for `grounded`.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tasks.commerce.extraction.complaint_wording import TOO_LONG, complaint_wording
from tasks.commerce.extraction.complaints import OTHER_WORDS, heard_in, rightly_named, same_complaint
from tasks.commerce.extraction.review_reading import OF_SEVERAL_TOPICS, has_sign, review_in, unknown_complaint
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
from tasks.commerce.text.wordings import read_wording

if TYPE_CHECKING:
    from schemas.tasks import SpecName
    from tasks.commerce.sql_qa.sandbox import Databases

DATA_FILES: Final = ("data/wordings/extraction.toml",)
WORDING: Final = read_wording("extraction")

CATEGORIES: Final = frozenset({"delivery", "product", "seller", "price", "other", "none"})
ISSUES: Final = ("delivery_issue", "product_issue", "seller_issue")
BOOLEANS: Final = (*ISSUES, "repeat_intent", "would_recommend")
WEIGHTS: Final = {"json": 0.12, "schema": 0.08, "types": 0.15, "values": 0.65}
V42_WEIGHTS: Final = {**REPORT_WEIGHTS, "mismatch": -0.20}
RISK_TOLERANCE: Final = 0.05
"""Half of a reference's step: a risk within it counts as equal."""
CONTRADICTED: Final = 0.25
INVENTED: Final = 0.2
"""Share of the values that an answer keeps whose complaint is not the review's."""
HIDDEN: Final = 0.6
"""Share of the values that an answer without the review's complaint keeps."""
FALSE_ALARM: Final = 0.85
"""Share of the values that an answer keeps for each issue that it claims and that is none."""
UNUSUAL: Final = 0.7
ONE_STAR_OFF: Final = 0.9
"""Agreement of stars that differ by one from a real review's: nobody reads exact stars in its words."""
NEXT_MOOD: Final = 0.75
"""Agreement of the mood beside a real review's that goes with such stars."""
FORM_ALONE: Final = 0.25
"""Share of the form that an answer is paid for whose values are all wrong."""

_RATING: Final = re.compile(r"^Nota: ([1-5])\b", re.MULTILINE | re.ASCII)

CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "sentiment": is_sentiment,
    "sentiment_score": is_stars,
    "churn_risk": is_share,
    "complaint_category": lambda value: isinstance(value, str) and value in CATEGORIES,
    **dict.fromkeys(BOOLEANS, is_boolean),
}
"""The nine checks, by field."""
READABLE: Final[Mapping[str, Callable[[Any], bool]]] = {
    **CHECKS,
    "main_complaint": lambda value: isinstance(value, str),
}


class Contradiction(NamedTuple):
    """Two fields that cannot both be right, or seldom are."""

    first: str
    second: str
    kept: float
    """Share of the agreement that either keeps."""
    holds: Callable[[Any, Any], bool]
    """Whether two well-typed values contradict each other."""


def _of_issue(category: str) -> Callable[[bool, str], bool]:
    return lambda issue, named: named == "none" if issue else named == category


def _of_intention(sentiment: str, intends: bool) -> bool:
    return sentiment == ("negative" if intends else "positive")


CONTRADICTIONS: Final = (
    Contradiction("sentiment", "sentiment_score", CONTRADICTED, sentiment_contradicts),
    *(
        Contradiction(f"{category}_issue", "complaint_category", CONTRADICTED, _of_issue(category))
        for category in ("delivery", "product", "seller")
    ),
    Contradiction("main_complaint", "complaint_category", UNUSUAL, lambda text, name: bool(text) == (name == "none")),
    Contradiction("sentiment", "repeat_intent", UNUSUAL, _of_intention),
    Contradiction("sentiment", "would_recommend", UNUSUAL, _of_intention),
    Contradiction(
        "sentiment",
        "churn_risk",
        UNUSUAL,
        lambda sentiment, risk: (
            sentiment == ("negative" if (read_share(risk) or 0.0) <= 0.3 else "positive")
            and not 0.3 < (read_share(risk) or 0.0) < 0.7
        ),
    ),
)

CONTRADICTING: Final = tuple(dict.fromkeys(name for rule in CONTRADICTIONS for name in (rule.first, rule.second)))


def score(completion: str, prompt: str, reference: Reference | None, databases: "Databases | None") -> Score:  # noqa: ARG001 - every task's signature
    """Score the form of the object and its agreement with the known facts."""
    parsed = parse_object(completion)
    fields = parsed.value or {}
    alone = not parsed.needed and fields.keys() <= READABLE.keys()
    trust = float(parsed.value is not None) if alone else parsed.trust_alone(READABLE)
    check_of = READABLE.get
    readable = {name: value for name, value in fields.items() if (check := check_of(name)) and check(value)}
    types = (len(readable) - ("main_complaint" in readable)) / len(CHECKS)
    sense = 0.25 + 0.75 * types
    present = len(READABLE) if len(readable) == len(READABLE) else sum(map(fields.__contains__, READABLE))
    values = _values(readable, reference, review_in(prompt)) if reference else None
    paid = 1.0 if values is None else FORM_ALONE + (1 - FORM_ALONE) * values
    components: dict[str, Any] = {
        "json": parsed.cleanliness * sense * paid,
        "schema": trust * sense * paid * 2 * present / (len(READABLE) + len(fields)),
        "types": trust * types * paid,
        "values": None if values is None else trust * values,
    }
    return Score(fill_unknown(components, WEIGHTS) if values is None else components, parsed.value)


def _values(readable: Mapping[str, Any], reference: Reference, review: str) -> float | None:
    wanted, rating = reference["fields"] or {}, reference["rating"]
    if readable == wanted:
        return 1.0
    found = readable.get
    agreements = {
        name: 1.0 if found(name) == value else field_agreement(name, found(name), value)
        for name, value in wanted.items()
        if value is not None
    }
    if not agreements:
        return None
    if wanted.get("churn_risk") is None:
        agreements |= _by_the_stars_alone(readable, wanted)
    complaint = _complaint(readable.get("main_complaint", ""), rating, review, wanted.get("main_complaint"))
    if complaint < 1 or ("main_complaint" in readable and "main_complaint" in agreements):
        agreements["main_complaint"] = complaint
    total, kept_of_all = _discounted(agreements, readable, wanted)
    contradicts = sentiment_contradicts(readable.get("sentiment"), rating) and not sentiment_contradicts(
        wanted.get("sentiment"), rating
    )
    alarms = 0
    for name in ISSUES:
        if found(name) is True and wanted.get(name) is not True:
            alarms += _is_alarm(name, wanted.get(name), wanted.get("main_complaint"), review)
    kept = FALSE_ALARM**alarms * kept_of_all * (0.5 if contradicts else 1.0) * _kept_by_complaint(readable, agreements)
    return float(kept * (total / len(agreements)) ** 2)


def _is_alarm(issue: str, true: bool | None, complaint: str | None, review: str) -> bool:
    """Return whether an issue is none, or one that nobody knows and of which a review has no word."""
    topic = issue.removesuffix("_issue")
    if true is None and review:
        return topic not in OF_SEVERAL_TOPICS.get(complaint or "", ()) and not has_sign(topic, review)
    return true is False


def _by_the_stars_alone(readable: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, float]:
    """Return the agreements of mood and stars one star off, where all that is known of either is a rating."""
    stars, rating = readable.get("sentiment_score"), wanted.get("sentiment_score")
    if stars is None or rating is None or abs(stars - rating) != 1:
        return {}
    mood, true = readable.get("sentiment"), wanted.get("sentiment")
    beside = {mood, true} != {"positive", "negative"} and None not in (mood, true) and mood == sentiment_of(stars)
    return {"sentiment_score": ONE_STAR_OFF} | ({"sentiment": NEXT_MOOD} if beside and mood != true else {})


def _complaint(found: str, rating: int | None, review: str, wanted: str | None) -> float:
    """Grade the complaint: by the reference's, or else by the review; and by its own words."""
    if found == wanted:
        return 1.0
    found = found[: TOO_LONG + 1]
    agreement = unknown_complaint(found, review, rating) if wanted is None else same_complaint(found, wanted, review)
    if not found.strip() or not agreement or (wanted is None and not review):
        return agreement
    topics = rightly_named(found, wanted or "", review) & (heard_in(review) | {wanted})
    return agreement * complaint_wording(found, review, topics)


def _kept_by_complaint(readable: Mapping[str, Any], agreements: Mapping[str, float]) -> float:
    """Return the share of the values that the complaint leaves: the one field in which anything could be claimed."""
    agreement = agreements.get("main_complaint", 1.0)
    if not readable.get("main_complaint", "").strip():
        return 1.0 if agreement == 1.0 else HIDDEN
    return INVENTED + (1 - INVENTED) * ramp(agreement, 0, OTHER_WORDS)


def _discounted(
    agreements: Mapping[str, float], readable: Mapping[str, Any], wanted: Mapping[str, Any]
) -> tuple[float, float]:
    """Return the sum of the agreements, less the discount of contradictions between two fields, and what all keep.

    A contradiction with a field that nobody knows costs of all of them: it might be either that is wrong.
    """
    kept: dict[str, float] = {}
    kept_of_all = 1.0
    found = _contradictions(*map(readable.get, CONTRADICTING))
    if not found:
        return sum(agreements.values()), kept_of_all
    same = _contradictions(*map(wanted.get, CONTRADICTING))
    for rule in found:
        if rule in same:
            continue
        if (wanted.get(rule.first) is None) != (wanted.get(rule.second) is None):
            kept_of_all *= max(rule.kept, UNUSUAL)
        for name in (rule.first, rule.second):
            kept[name] = min(kept.get(name, 1.0), rule.kept)
    return sum([agreement * kept.get(name, 1.0) for name, agreement in agreements.items()]), kept_of_all


@lru_cache(maxsize=KEPT_PROMPTS)
def _contradictions(*values: Any) -> tuple[Contradiction, ...]:
    """Return the rules that the values of `CONTRADICTING` break; few objects differ in more than their complaint."""
    found = dict(zip(CONTRADICTING, values, strict=True)).get
    return tuple(
        rule
        for rule in CONTRADICTIONS
        if (one := found(rule.first)) is not None
        and (other := found(rule.second)) is not None
        and rule.holds(one, other)
    )


def field_agreement(name: str, found: Any, wanted: Any) -> float:
    """Grade a field that differs from the reference's."""
    if found is None:
        return 0.0
    if name == "churn_risk":
        return ramp(abs((read_share(found) or 0.0) - wanted), 0.5, RISK_TOLERANCE)
    if name == "sentiment_score":
        return ramp(abs(found - wanted), 2, 0)
    return 0.0


def v42_score(completion: str, prompt: str, reference: Reference | None, databases: "Databases | None") -> Score:  # noqa: ARG001 - every task's signature
    """Score like the V4.2 report's reward: a dict, its fields, their types, and the rating's contradiction."""
    parsed = parse_object(completion)
    fields = parsed.value or {}
    components = report_components(parsed.trust, fields, CAUSE_FIELDS, CHECKS)
    rating = (reference or {}).get("rating") or _rating_in(prompt)
    components["mismatch"] = float(sentiment_contradicts(fields.get("sentiment"), rating))
    return Score(components, parsed.value)


def _rating_in(prompt: str) -> int | None:
    found = _RATING.search(prompt)
    return int(found[1]) if found else None


REWARDS: Final[Mapping["SpecName", Reward]] = {
    "grounded": Reward(WEIGHTS, score),
    "v4.2": Reward(V42_WEIGHTS, v42_score),
}
