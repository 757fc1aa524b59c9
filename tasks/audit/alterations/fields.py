"""Alterations of the fields of sentiment, extraction and churn: what is false in them, and what is as good."""

import random
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tasks.audit.alterations.json_answers import (
    COMPLAINT,
    OTHER_COMPLAINTS,
    SENTIMENTS,
    STARS,
    FieldChange,
    Fields,
    changed_object,
    given,
    legible,
    notations,
    of_any_object,
    of_fields,
    opposite,
    other_in,
    other_value,
    read,
    two_worse,
    where_known,
    write,
)
from tasks.audit.alterations.library import (
    COSTLY,
    ERROR_COST,
    NOTHING_EARNED,
    WRONG,
    Alteration,
    Bound,
    Change,
    GoodAnswer,
    at_least_of,
    at_most,
    at_most_of,
    costs,
    equal,
    unchanged,
)
from tasks.commerce.reward import Reference

ISSUES: Final = ("delivery_issue", "product_issue", "seller_issue")
INTENTIONS: Final = ("repeat_intent", "would_recommend")
MOOD: Final = ("sentiment", "sentiment_score")
"""Fields that stars reveal, in a real store too."""
EXTRACTED: Final = (*MOOD, "churn_risk", *ISSUES, COMPLAINT, "complaint_category", *INTENTIONS)
_COSTLY: Final = at_most_of(COSTLY)


def _opposite_sentiment(fields: Fields) -> Fields | None:
    name = next(name for name in SENTIMENTS if name in fields)
    return None if fields[name] == "neutral" else {name: other_value(name, fields[name])}


def _opposite_stars(fields: Fields) -> Fields | None:
    name = next(name for name in STARS if name in fields)
    return None if fields[name] == 3 else {name: other_value(name, fields[name])}


def _stars_more(step: int) -> FieldChange:
    return lambda fields: {"score": fields["score"] + step} if 1 <= fields["score"] + step <= 5 else None


def _side(*, taken: bool) -> FieldChange:
    other = {"polarity": "positive" if taken else "neutral"}
    return lambda fields: other if (fields["polarity"] == "neutral") is taken else None


def _without_stars(known: Reference) -> Reference | None:
    return {**known, "score": None} if known["polarity"] and known["score"] else None


_FALSE_SENTIMENTS: Final[Mapping[str, tuple[FieldChange, Bound]]] = {
    "opposite polarity": (_opposite_sentiment, at_most(WRONG)),
    "opposite stars": (_opposite_stars, at_most(WRONG)),
    "several polarities": (lambda _: {"polarity": "negative, neutral, positive"}, at_most(WRONG)),
    "no side": (_side(taken=False), _COSTLY),
    "a side for none": (_side(taken=True), _COSTLY),
    "a star more": (_stars_more(1), costs(0.1)),
    "a star less": (_stars_more(-1), costs(0.1)),
    "swapped fields": (
        lambda fields: {"polarity": fields["score"], "score": fields["polarity"]},
        at_most(NOTHING_EARNED),
    ),
}


def _of_sentiment() -> Iterator[Alteration]:
    yield from (*of_any_object(), *of_fields("polarity", "score"), *two_worse("polarity", "score"), *legible())
    for name, (change, bound) in _FALSE_SENTIMENTS.items():
        yield Alteration(name, "Reads the mood falsely.", given(change), bound)
    for step in (1, -1):
        yield Alteration(f"nearly right by {step}", "Is one star off.", given(_stars_more(step)), at_least_of(0.5))
    says = "Is right, or wrong, as far as is known."
    yield Alteration("right, stars unknown", says, unchanged, equal(), knows=_without_stars)
    yield Alteration("wrong, stars unknown", says, opposite, at_most(0.3), knows=_without_stars)


def _mood_alone(known: Reference) -> Reference | None:
    fields = known.get("fields") or {}
    if any(fields.get(name) is None for name in MOOD):
        return None
    return {**known, "fields": {name: value if name in MOOD else None for name, value in fields.items()}}


def _invented(category: str) -> FieldChange:
    invented = {COMPLAINT: OTHER_COMPLAINTS[1], f"{category}_issue": True, "complaint_category": category}
    return lambda fields: None if fields[COMPLAINT] or fields[f"{category}_issue"] else invented


def _hidden(fields: Fields) -> Fields | None:
    hidden = {**dict.fromkeys(ISSUES, False), COMPLAINT: "", "complaint_category": "none"}
    return hidden if fields[COMPLAINT] else None


def _nearby_risk(fields: Fields) -> Fields:
    risk = fields["churn_risk"]
    return {"churn_risk": round(risk + (0.05 if risk < 0.5 else -0.05), 4)}


def _of_extraction() -> Iterator[Alteration]:
    yield from (*of_any_object(), *of_fields(*EXTRACTED), *two_worse(*EXTRACTED), *legible(), *notations("churn_risk"))
    for name, change in (
        ("complaint invented", _invented("delivery")),
        ("product blamed", _invented("product")),
        ("complaint hidden", _hidden),
        ("opposite sentiment", _opposite_sentiment),
    ):
        yield Alteration(name, "Says what the review does not.", given(change), _COSTLY)
    yield Alteration(
        "worse than details",
        "Turns the sentiment, which is worse than three wrong details.",
        given(_opposite_sentiment),
        costs(ERROR_COST),
        given(lambda fields: {name: other_value(name, fields[name]) for name in ("churn_risk", *INTENTIONS)}),
    )
    everywhere = where_known(ISSUES[0], given(lambda _: dict.fromkeys(ISSUES, True)))
    yield Alteration("issues everywhere", "Finds an issue of each kind.", everywhere, costs(ERROR_COST))
    yield Alteration("risk a little off", "Is off by the tolerance.", given(_nearby_risk), equal())
    alone = where_known(COMPLAINT, changed_object(lambda fields: {"sentiment": fields["sentiment"]}))
    yield Alteration("one field alone", "Has the sentiment alone.", alone, at_most(NOTHING_EARNED))
    says = "Is right, or wrong, as far as is known."
    yield Alteration("right, mood known", says, unchanged, equal(), knows=_mood_alone)
    yield Alteration("wrong, mood known", says, opposite, at_most(WRONG), knows=_mood_alone)


def _reasons(change: Callable[[list[Fields]], list[Any]]) -> Change:
    return given(lambda fields: {"reasons": change(fields["reasons"])})


def _first_reason(change: Callable[[Fields], Fields]) -> Change:
    return _reasons(lambda found: [found[0] | change(found[0]), *found[1:]])


def _turned(reason: Fields) -> Fields:
    return reason | {"aponta": "fica" if reason["aponta"] == "sai" else "sai"}


def _other_line(good: GoodAnswer, generator: random.Random) -> str | None:
    """Give the first reason the value of another line of the prompt."""
    fields = read(good)
    first, *rest = fields["reasons"]
    lines = dict(re.findall(r"^([^:\n]+): (.+)$", good.prompt, re.MULTILINE))
    values = sorted({value for value in lines.values() if value != lines.get(first["campo"])})
    return write(fields | {"reasons": [first | {"valor": generator.choice(values)}, *rest]})


_FALSE_REASONS: Final[Mapping[str, Change]] = {
    "first reason turned": _first_reason(_turned),
    "value of another line": _other_line,
    "invented line": _first_reason(lambda _: {"campo": "Renda"}),
    "insult as value": _first_reason(lambda _: {"valor": "Cliente burro"}),
    "words in a reason": _first_reason(lambda _: {"texto": "Ligue 0800"}),
    "reason in words": _reasons(lambda _: ["O cliente comprou pouco."]),
    "reasons more": _reasons(lambda found: found * 3),
}


def _of_churn() -> Iterator[Alteration]:
    yield from (*of_any_object(), *of_fields("risk_score", "churn", "reasons"))
    for name, change in _FALSE_REASONS.items():
        yield Alteration(name, "Gives a reason that does not hold.", change, costs(ERROR_COST))
    thrice = _reasons(lambda found: found[:1] * 3)
    yield Alteration("one reason thrice", "Says one reason three times.", thrice, costs(ERROR_COST), judged="most")
    turned = _reasons(lambda found: [*map(_turned, found)])
    yield Alteration("reasons turned", "Says the opposite of each line.", turned, _COSTLY)
    yield Alteration("no reasons", "Gives no reason.", _reasons(lambda _: []), at_most(0.6))
    many = _reasons(lambda found: found[:1] * 200)
    yield Alteration("two hundred reasons", "Gives too many reasons.", many, at_most(NOTHING_EARNED))
    other = given(lambda fields: {"risk_score": round(1 - fields["risk_score"], 2), "churn": not fields["churn"]})
    yield Alteration("other decision", "Decides the other way.", other, at_most(WRONG), judged="most")
    yield Alteration("contradiction", "Has a risk against its answer.", given(other_in("churn")), at_most(WRONG))


SENTIMENT: Final = tuple(_of_sentiment())
EXTRACTION: Final = tuple(_of_extraction())
CHURN: Final = tuple(_of_churn())
