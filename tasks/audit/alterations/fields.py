"""Alterations of the fields of sentiment, extraction and churn: what is false in them, and what is as good."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
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
    of_any_object,
    opposite,
    other_value,
    read,
    write,
)
from tasks.audit.alterations.library import (
    COSTLY,
    EQUAL,
    ERROR_COST,
    NOTHING_EARNED,
    WRONG,
    Alteration,
    Bound,
    Change,
    GoodAnswer,
    around,
    unchanged,
)
from tasks.commerce.reward import Reference

ISSUES: Final = ("delivery_issue", "product_issue", "seller_issue")
INTENTIONS: Final = ("repeat_intent", "would_recommend")
MOOD: Final = ("sentiment", "sentiment_score")  # Fields that stars reveal, in a real store too.
EXTRACTED: Final = (*MOOD, "churn_risk", *ISSUES, COMPLAINT, "complaint_category", *INTENTIONS)
_AS_KNOWN: Final = "Is right, or wrong, as far as is known."


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
        null = _where_known(name, given(_null_in(name)))
        for kind, says, change in (
            ("missing", "Lacks one field.", changed_object(_without(name))),
            ("null", "Has null in one field.", null),
            ("wrong", "Has another value in one field.", given(_other_in(name))),
        ):
            yield Alteration(f"{name} {kind}", says, _where_known(name, change), ERROR_COST)
        for kind, value in _wrong_types(name).items():
            changed = _where_known(name, given(_typed(name, value)))
            yield Alteration(f"{name} {kind}", "Has another type, as bad as null.", changed, EQUAL, null)
    yield Alteration("all wrong", "Has every value wrong.", opposite, WRONG)


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
        both, says = _where_known(one, _where_known(two, given(_null_in(one, two)))), "Has two nulls, worse than one."
        yield Alteration(f"{one} and {two} null", says, both, Bound("costs", 0.02), given(_null_in(one)))


def _notations(name: str) -> Iterator[Alteration]:
    """Yield the Brazilian notations of a number from 0 to 1, which are right."""

    def noted(form: str) -> Change:
        def changed(good: GoodAnswer) -> str:
            fields = read(good)
            share = round(fields[name], 2)
            written = form.format(comma=f"{share:.2f}".replace(".", ","), share=share)
            return write(fields | {name: "@"}).replace('"@"', written)

        return changed

    for kind, form in {"comma": "{comma}", "comma in quotes": '"{comma}"', "per cent": '"{share:.0%}"'}.items():
        yield Alteration(f"{name} with {kind}", "Writes a number as Brazilians do.", noted(form), EQUAL)


def _legible() -> Iterator[Alteration]:
    """Yield forms that a program can read: they earn less than all, and more than a wrong answer in the right form."""
    for name, form in {
        "code fence": "```json\n@\n```",
        "thought before": "<think>Vou ler com calma.</think>\n@",
        "polite": "Claro! Segue a resposta:\n@\nEspero ter ajudado!",
    }.items():
        yield Alteration(name, "Is right in a flawed form.", around(form), Bound("at least of", 0.4))
        says = "Is wrong in a good form, which is worse than right in a flawed one."
        yield Alteration(f"wrong, not {name}", says, opposite, ERROR_COST, around(form))
    much, little = around(f"{'Vou dizer com calma o que li aqui. ' * 20}\n@"), around("Claro! @")
    says = "Has more text around it, which is worse than little."
    yield Alteration("more chatter", says, much, Bound("costs", 0.01), little)


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
    "opposite polarity": (_OPPOSITE_SENTIMENT, WRONG),
    "opposite stars": (given(_opposite_of(STARS, 3)), WRONG),
    "several polarities": (given(lambda _: {"polarity": "negative, neutral, positive"}), WRONG),
    "no side": (given(_side(taken=False)), COSTLY),
    "a side for none": (given(_side(taken=True)), COSTLY),
    "a star more": (given(_stars_more(1)), Bound("costs", 0.1)),
    "a star less": (given(_stars_more(-1)), Bound("costs", 0.1)),
    "swapped fields": (
        given(lambda fields: {"polarity": fields["score"], "score": fields["polarity"]}),
        NOTHING_EARNED,
    ),
}


def _of_sentiment() -> Iterator[Alteration]:
    yield from (*of_any_object(), *_of_fields("polarity", "score"), *_two_worse("polarity", "score"), *_legible())
    for name, (change, bound) in _FALSE_SENTIMENTS.items():
        yield Alteration(name, "Reads the mood falsely.", change, bound)
    for step in (1, -1):
        yield Alteration(
            f"nearly right by {step}", "Is one star off.", given(_stars_more(step)), Bound("at least of", 0.5)
        )
    yield Alteration("right, stars unknown", _AS_KNOWN, unchanged, EQUAL, knows=_without_stars)
    yield Alteration("wrong, stars unknown", _AS_KNOWN, opposite, Bound("at most", 0.3), knows=_without_stars)


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
    yield from (*of_any_object(), *_of_fields(*EXTRACTED), *_two_worse(*EXTRACTED), *_legible())
    yield from _notations("churn_risk")
    for name, change in (
        ("complaint invented", given(_invented("delivery"))),
        ("product blamed", given(_invented("product"))),
        ("complaint hidden", given(_hidden)),
        ("opposite sentiment", _OPPOSITE_SENTIMENT),
    ):
        yield Alteration(name, "Says what the review does not.", change, COSTLY)
    details, says = given(_other_in("churn_risk", *INTENTIONS)), "Turns the sentiment, worse than three wrong details."
    yield Alteration("worse than details", says, _OPPOSITE_SENTIMENT, ERROR_COST, details)
    everywhere = _where_known(ISSUES[0], given(lambda _: dict.fromkeys(ISSUES, True)))
    yield Alteration("issues everywhere", "Finds an issue of each kind.", everywhere, ERROR_COST)
    yield Alteration("risk a little off", "Is off by the tolerance.", given(_nearby_risk), EQUAL)
    alone = _where_known(COMPLAINT, changed_object(lambda fields: {"sentiment": fields["sentiment"]}))
    yield Alteration("one field alone", "Has the sentiment alone.", alone, NOTHING_EARNED)
    yield Alteration("right, mood known", _AS_KNOWN, unchanged, EQUAL, knows=_mood_alone)
    yield Alteration("wrong, mood known", _AS_KNOWN, opposite, WRONG, knows=_mood_alone)


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
    yield from (*of_any_object(), *_of_fields("risk_score", "churn", "reasons"))
    for name, change in _FALSE_REASONS.items():
        yield Alteration(name, "Gives a reason that does not hold.", change, ERROR_COST)
    thrice = _reasons(lambda found: found[:1] * 3)
    yield Alteration("one reason thrice", "Says one reason three times.", thrice, ERROR_COST, judged="most")
    turned = _reasons(lambda found: [*map(_turned, found)])
    yield Alteration("reasons turned", "Says the opposite of each line.", turned, COSTLY)
    yield Alteration("no reasons", "Gives no reason.", _reasons(lambda _: []), Bound("at most", 0.6))
    many = _reasons(lambda found: found[:1] * 200)
    yield Alteration("two hundred reasons", "Gives too many reasons.", many, NOTHING_EARNED)
    other = given(lambda fields: {"risk_score": round(1 - fields["risk_score"], 2), "churn": not fields["churn"]})
    yield Alteration("other decision", "Decides the other way.", other, WRONG, judged="most")
    yield Alteration("contradiction", "Has a risk against its answer.", given(_other_in("churn")), WRONG)


SENTIMENT: Final = tuple(_of_sentiment())
EXTRACTION: Final = tuple(_of_extraction())
CHURN: Final = tuple(_of_churn())
