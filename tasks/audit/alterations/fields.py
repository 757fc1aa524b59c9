"""Alterations of the fields of sentiment, extraction and churn: what is false in them, and what is as good."""

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
MOOD: Final = ("sentiment", "sentiment_score")  # Fields that stars reveal, in a real store too.
EXTRACTED: Final = (*MOOD, "churn_risk", *ISSUES, COMPLAINT, "complaint_category", *INTENTIONS)
_AS_KNOWN: Final = "Is right, or wrong, as far as is known."


def _opposite_of(names: tuple[str, ...], middle: Any) -> FieldChange:
    """Return the change of a field to its opposite, where it is not in the middle."""

    def change(fields: Fields) -> Fields | None:
        name = next(name for name in names if name in fields)
        return None if fields[name] == middle else {name: other_value(name, fields[name])}

    return change


def _stars_more(step: int) -> FieldChange:
    return lambda fields: {"score": fields["score"] + step} if 1 <= fields["score"] + step <= 5 else None


def _side(*, taken: bool) -> FieldChange:
    other = {"polarity": "positive" if taken else "neutral"}
    return lambda fields: other if (fields["polarity"] == "neutral") is taken else None


def _without_stars(known: Reference) -> Reference | None:
    return {**known, "score": None} if known["polarity"] and known["score"] else None


_OPPOSITE_SENTIMENT: Final = given(_opposite_of(SENTIMENTS, "neutral"))
_FALSE_SENTIMENTS: Final[Mapping[str, tuple[Change, Bound]]] = {
    "opposite polarity": (_OPPOSITE_SENTIMENT, at_most(WRONG)),
    "opposite stars": (given(_opposite_of(STARS, 3)), at_most(WRONG)),
    "several polarities": (given(lambda _: {"polarity": "negative, neutral, positive"}), at_most(WRONG)),
    "no side": (given(_side(taken=False)), at_most_of(COSTLY)),
    "a side for none": (given(_side(taken=True)), at_most_of(COSTLY)),
    "a star more": (given(_stars_more(1)), costs(0.1)),
    "a star less": (given(_stars_more(-1)), costs(0.1)),
    "swapped fields": (
        given(lambda fields: {"polarity": fields["score"], "score": fields["polarity"]}),
        at_most(NOTHING_EARNED),
    ),
}


def _of_sentiment() -> Iterator[Alteration]:
    yield from (*of_any_object(), *of_fields("polarity", "score"), *two_worse("polarity", "score"), *legible())
    for name, (change, bound) in _FALSE_SENTIMENTS.items():
        yield Alteration(name, "Reads the mood falsely.", change, bound)
    for step in (1, -1):
        yield Alteration(f"nearly right by {step}", "Is one star off.", given(_stars_more(step)), at_least_of(0.5))
    yield Alteration("right, stars unknown", _AS_KNOWN, unchanged, equal(), knows=_without_stars)
    yield Alteration("wrong, stars unknown", _AS_KNOWN, opposite, at_most(0.3), knows=_without_stars)


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
        ("complaint invented", given(_invented("delivery"))),
        ("product blamed", given(_invented("product"))),
        ("complaint hidden", given(_hidden)),
        ("opposite sentiment", _OPPOSITE_SENTIMENT),
    ):
        yield Alteration(name, "Says what the review does not.", change, at_most_of(COSTLY))
    details, says = given(other_in("churn_risk", *INTENTIONS)), "Turns the sentiment, worse than three wrong details."
    yield Alteration("worse than details", says, _OPPOSITE_SENTIMENT, costs(ERROR_COST), details)
    everywhere = where_known(ISSUES[0], given(lambda _: dict.fromkeys(ISSUES, True)))
    yield Alteration("issues everywhere", "Finds an issue of each kind.", everywhere, costs(ERROR_COST))
    yield Alteration("risk a little off", "Is off by the tolerance.", given(_nearby_risk), equal())
    alone = where_known(COMPLAINT, changed_object(lambda fields: {"sentiment": fields["sentiment"]}))
    yield Alteration("one field alone", "Has the sentiment alone.", alone, at_most(NOTHING_EARNED))
    yield Alteration("right, mood known", _AS_KNOWN, unchanged, equal(), knows=_mood_alone)
    yield Alteration("wrong, mood known", _AS_KNOWN, opposite, at_most(WRONG), knows=_mood_alone)


def _reasons(change: Callable[[list[Fields]], list[Any]]) -> Change:
    return given(lambda fields: {"reasons": change(fields["reasons"])})


def _first_reason(change: Callable[[Fields], Fields]) -> Change:
    return _reasons(lambda found: [found[0] | change(found[0]), *found[1:]])


def _turned(reason: Fields) -> Fields:
    return reason | {"aponta": "fica" if reason["aponta"] == "sai" else "sai"}


def _other_line(good: GoodAnswer) -> str:
    """Give the first reason the value of another line of the prompt."""
    fields = read(good)
    first, *rest = fields["reasons"]
    lines = dict(re.findall(r"^([^:\n]+): (.+)$", good.prompt, re.MULTILINE))
    values = sorted({value for value in lines.values() if value != lines.get(first["campo"])})
    other = first | {"valor": good.generator("value of another line").choice(values)}
    return write(fields | {"reasons": [other, *rest]})


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
    yield Alteration("reasons turned", "Says the opposite of each line.", turned, at_most_of(COSTLY))
    yield Alteration("no reasons", "Gives no reason.", _reasons(lambda _: []), at_most(0.6))
    many = _reasons(lambda found: found[:1] * 200)
    yield Alteration("two hundred reasons", "Gives too many reasons.", many, at_most(NOTHING_EARNED))
    other = given(lambda fields: {"risk_score": round(1 - fields["risk_score"], 2), "churn": not fields["churn"]})
    yield Alteration("other decision", "Decides the other way.", other, at_most(WRONG), judged="most")
    yield Alteration("contradiction", "Has a risk against its answer.", given(other_in("churn")), at_most(WRONG))


SENTIMENT: Final = tuple(_of_sentiment())
EXTRACTION: Final = tuple(_of_extraction())
CHURN: Final = tuple(_of_churn())
