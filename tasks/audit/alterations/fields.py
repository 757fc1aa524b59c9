"""Alterations of the fields of sentiment, extraction and churn: what is false in them, and what is as good."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from tasks.audit.alterations import bounds
from tasks.audit.alterations.bounds import Bound
from tasks.audit.alterations.json_answers import (
    ANY_OBJECT,
    COMPLAINT,
    OTHER_COMPLAINTS,
    SENTIMENTS,
    STARS,
    FieldChange,
    Fields,
    changed_object,
    given,
    opposite,
    other_value,
    read,
    write,
)
from tasks.audit.alterations.library import Alteration, Change, GoodAnswer, around, unchanged, within
from tasks.commerce.reward import Reference

ISSUES: Final = ("delivery_issue", "product_issue", "seller_issue")
INTENTIONS: Final = ("repeat_intent", "would_recommend")
MOOD: Final = ("sentiment", "sentiment_score")  # Fields that stars reveal, in a real store too.
EXTRACTED: Final = (*MOOD, "churn_risk", *ISSUES, COMPLAINT, "complaint_category", *INTENTIONS)


def _where_known(name: str, change: Change) -> Change:
    """Return a change that applies where the reference knows a field."""

    def changed(good: GoodAnswer) -> str | None:
        fields = good.reference.get("fields")
        return change(good) if fields is None or fields.get(name) is not None else None

    return changed


def _other_in(*names: str) -> FieldChange:
    return lambda fields: {name: other_value(name, fields[name]) for name in names}


def _of_fields(*names: str) -> Iterator[Alteration]:
    """Yield the alterations of single fields, by their names: missing, of another type, and of another value.

    They apply where the reference knows the field: others are guessed.
    """
    for name in names:
        null, other = given(_null_in(name)), given(_other_in(name))
        for kind, change in (("missing", changed_object(_without(name))), ("null", null), ("wrong", other)):
            yield Alteration(f"{name} {kind}", _where_known(name, change), bounds.ERROR_COST)
        for kind, value in _wrong_types(name).items():
            yield Alteration(f"{name} {kind}", _where_known(name, given(_typed(name, value))), bounds.EQUAL, null)
    yield Alteration("all wrong", opposite, bounds.WRONG)


def _null_in(*names: str) -> FieldChange:
    return lambda fields: dict.fromkeys(names) if fields.keys() >= set(names) else None


def _without(name: str) -> Callable[[Fields], Fields]:
    return lambda fields: {key: value for key, value in fields.items() if key != name}


def _typed(name: str, value: Any) -> FieldChange:
    return lambda fields: {name: value(fields[name]) if callable(value) else value} if name in fields else None


def _wrong_types(name: str) -> dict[str, Any]:
    """Return values of other types, by what they are; a function makes one of the right value."""
    if name in STARS:
        of_one, broken = lambda stars: stars / 5 - 0.05, lambda stars: stars + 0.5 if stars < 5 else 4.5
        return {"true": True, "as text": str, "of one": of_one, "broken": broken, "0": 0, "6": 6}
    if name in ("churn_risk", "risk_score"):
        return {"true": True, "alto": "alto", "7": 7, "-0.5": -0.5}
    if name in (COMPLAINT, "reasons"):
        return {"true": True, "number": 3}
    if name in SENTIMENTS or name == "complaint_category":
        return {"true": True, "1": 1, "?": "?", "its name": name}
    return {"quoted": lambda value: str(value).lower(), "sim": "sim", "as number": int, "0.5": 0.5, "its name": name}


def _two_worse(*names: str) -> Iterator[Alteration]:
    """Yield two faults, which are worse than one where an answer with a fault earns anything."""
    for one, two in pairwise(names):
        both = _where_known(one, _where_known(two, given(_null_in(one, two))))
        yield Alteration(f"{one} and {two} null", both, Bound("costs", 0.02), given(_null_in(one)))


def _notations(name: str) -> Iterator[Alteration]:
    """Yield the Brazilian notations of a number from 0 to 1, which are right."""

    def noted(form: str) -> Change:
        def changed(good: GoodAnswer) -> str:
            fields = read(good)
            share = round(fields[name], 2)
            written = form.format(comma=f"{share:.2f}".replace(".", ","), share=share)
            return write(fields | {name: "@"}).replace('"@"', written)

        return changed

    forms = {"comma": "{comma}", "comma in quotes": '"{comma}"', "per cent": '"{share:.0%}"'}
    return within(bounds.EQUAL, {f"{name} with {kind}": noted(form) for kind, form in forms.items()})


def _legible() -> Iterator[Alteration]:
    """Yield forms that a program can read: they earn less than all, and more than a wrong answer in the right form."""
    for name, form in {
        "code fence": "```json\n@\n```",
        "thought before": "<think>Vou ler com calma.</think>\n@",
        "polite": "Claro! Segue a resposta:\n@\nEspero ter ajudado!",
    }.items():
        yield Alteration(name, around(form), Bound("at least of", 0.4))
        yield Alteration(f"wrong, not {name}", opposite, bounds.ERROR_COST, around(form))
    much = around(f"{'Vou dizer com calma o que li aqui. ' * 20}\n@")
    yield Alteration("more chatter", much, Bound("costs", 0.01), around("Claro! @"))


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
_FALSE_SENTIMENTS: Final[Mapping[Bound, Mapping[str, Change]]] = {
    bounds.WRONG: {
        "opposite polarity": _OPPOSITE_SENTIMENT,
        "opposite stars": given(_opposite_of(STARS, 3)),
        "several polarities": given(lambda _: {"polarity": "negative, neutral, positive"}),
    },
    bounds.COSTLY: {"no side": given(_side(taken=False)), "a side for none": given(_side(taken=True))},
    Bound("costs", 0.1): {"a star more": given(_stars_more(1)), "a star less": given(_stars_more(-1))},
    bounds.NOTHING_EARNED: {
        "swapped fields": given(lambda fields: {"polarity": fields["score"], "score": fields["polarity"]})
    },
    Bound("at least of", 0.5): {f"nearly right by {step}": given(_stars_more(step)) for step in (1, -1)},
}


def _of_sentiment() -> Iterator[Alteration]:
    yield from (*ANY_OBJECT, *_of_fields("polarity", "score"), *_two_worse("polarity", "score"), *_legible())
    for bound, changes in _FALSE_SENTIMENTS.items():
        yield from within(bound, changes)
    yield Alteration("right, stars unknown", unchanged, bounds.EQUAL, knows=_without_stars)
    yield Alteration("wrong, stars unknown", opposite, Bound("at most", 0.3), knows=_without_stars)


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


_FALSE_EXTRACTIONS: Final[Mapping[str, Change]] = {
    "complaint invented": given(_invented("delivery")),
    "product blamed": given(_invented("product")),
    "complaint hidden": given(_hidden),
    "opposite sentiment": _OPPOSITE_SENTIMENT,
}


def _of_extraction() -> Iterator[Alteration]:
    yield from (*ANY_OBJECT, *_of_fields(*EXTRACTED), *_two_worse(*EXTRACTED), *_legible())
    yield from (*_notations("churn_risk"), *within(bounds.COSTLY, _FALSE_EXTRACTIONS))
    details = given(_other_in("churn_risk", *INTENTIONS))
    yield Alteration("worse than details", _OPPOSITE_SENTIMENT, bounds.ERROR_COST, details)
    everywhere = _where_known(ISSUES[0], given(lambda _: dict.fromkeys(ISSUES, True)))
    yield Alteration("issues everywhere", everywhere, bounds.ERROR_COST)
    yield Alteration("risk a little off", given(_nearby_risk), bounds.EQUAL)
    alone = _where_known(COMPLAINT, changed_object(lambda fields: {"sentiment": fields["sentiment"]}))
    yield Alteration("one field alone", alone, bounds.NOTHING_EARNED)
    yield Alteration("right, mood known", unchanged, bounds.EQUAL, knows=_mood_alone)
    yield Alteration("wrong, mood known", opposite, bounds.WRONG, knows=_mood_alone)


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
    yield from (*ANY_OBJECT, *_of_fields("risk_score", "churn", "reasons"), *within(bounds.ERROR_COST, _FALSE_REASONS))
    thrice, many = _reasons(lambda found: found[:1] * 3), _reasons(lambda found: found[:1] * 200)
    yield Alteration("one reason thrice", thrice, bounds.ERROR_COST, judged="most")
    yield Alteration("reasons turned", _reasons(lambda found: [*map(_turned, found)]), bounds.COSTLY)
    yield Alteration("no reasons", _reasons(lambda _: []), Bound("at most", 0.6))
    yield Alteration("two hundred reasons", many, bounds.NOTHING_EARNED)
    other = given(lambda fields: {"risk_score": round(1 - fields["risk_score"], 2), "churn": not fields["churn"]})
    yield Alteration("other decision", other, bounds.WRONG, judged="most")
    yield Alteration("contradiction", given(_other_in("churn")), bounds.WRONG)


SENTIMENT: Final = tuple(_of_sentiment())
EXTRACTION: Final = tuple(_of_extraction())
CHURN: Final = tuple(_of_churn())
