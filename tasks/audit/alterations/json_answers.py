"""Alterations of an answer that is one JSON object: its notation, and the fields of sentiment, extraction and churn."""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from tasks.audit.alterations.library import (
    COSTLY,
    ERROR_COST,
    NOTHING_EARNED,
    UNSENDABLE,
    WRONG,
    Alteration,
    Change,
    GoodAnswer,
    around,
    at_least_of,
    at_most,
    at_most_of,
    costs,
    equal,
    unchanged,
)
from tasks.commerce.reward import Reference

Fields = dict[str, Any]
SHARES: Final = ("churn_risk", "risk_score")
"""Fields with a number from 0 to 1."""
STARS: Final = ("sentiment_score", "score")
"""Fields with 1 to 5 stars."""
SENTIMENTS: Final = ("sentiment", "polarity")
ISSUES: Final = ("delivery_issue", "product_issue", "seller_issue")
COMPLAINT: Final = "main_complaint"
OTHER_COMPLAINTS: Final = ("frete caro", "atraso na entrega")
_TEXTS: Final = {
    **dict.fromkeys(SENTIMENTS, ("positive", "negative")),
    "complaint_category": ("price", "seller"),
}
SHAREABLE: Final = ("repeat_intent", "would_recommend")


def read(good: GoodAnswer) -> Fields:
    """Return the fields of an answer.

    Raises:
        ValueError: It is no JSON.
    """
    fields: Fields = json.loads(good.text)
    return fields


def write(fields: Mapping[str, Any]) -> str:
    """Write compact JSON."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def given(change: Callable[[Fields], Mapping[str, Any] | None]) -> Change:
    """Return the change that gives fields other values; it does not apply where there is None."""

    def changed(good: GoodAnswer, generator: random.Random) -> str | None:  # noqa: ARG001 - every change's signature
        fields = read(good)
        other = change(fields)
        return None if other is None else write({**fields, **other})

    return changed


def other_value(name: str, value: Any) -> Any:
    """Return the most wrong value of a field's type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        least, most = (1, 5) if name in STARS else (0.0, 1.0)
        return least if value >= (least + most) / 2 else most
    if not isinstance(value, str):
        return []
    first, *others = _TEXTS.get(name, OTHER_COMPLAINTS)
    return others[0] if value == first else first


def _opposite(good: GoodAnswer, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    return write({name: other_value(name, value) for name, value in read(good).items()})


def _with_opposite(form: Callable[[str, str], str]) -> Change:
    return lambda good, generator: form(good.text, _opposite(good, generator))


def _object(change: Callable[[Fields], Any]) -> Change:
    return lambda good, _: write(change(read(good)))


_LAYOUTS: Final[Mapping[str, Change]] = {
    "spaces": lambda good, _: json.dumps(read(good), ensure_ascii=False),
    "escapes": lambda good, _: json.dumps(read(good)),
    "many lines": lambda good, _: json.dumps(read(good), indent="\t", ensure_ascii=False),
    "keys backwards": lambda good, _: write(dict(reversed(read(good).items()))),
    "blanks around": around("\n @ \n\n"),
}
_BOTH: Final[Mapping[str, Change]] = {
    "right, then wrong": _with_opposite("{}\n{}".format),
    "wrong, then right": _with_opposite(lambda right, wrong: f"{wrong}\n{right}"),
    "keys repeated": _with_opposite(lambda right, wrong: f"{wrong[:-1]},{right[1:]}"),
    "keys repeated, right first": _with_opposite(lambda right, wrong: f"{right[:-1]},{wrong[1:]}"),
    "list of both": _with_opposite(lambda right, wrong: f"[{wrong}, {right}]"),
}
_WITHOUT_VALUES: Final[Mapping[str, Change]] = {
    "all null": _object(dict.fromkeys),
    "names for values": _object(lambda fields: {name: name for name in fields}),
    "question marks": _object(lambda fields: dict.fromkeys(fields, "?")),
}
_BROKEN: Final[Mapping[str, Change]] = {
    "trailing comma": lambda good, _: f"{good.text[:-1]},}}",
    "single quotes": lambda good, _: None if "'" in good.text else good.text.replace('"', "'"),
    "keys without quotes": lambda good, _: re.sub(r'"(\w+)":', r"\1:", good.text),
    "last brace missing": lambda good, _: good.text[:-1],
    "first key again": lambda good, _: f"{good.text[:-1]},{_first_field(good)}}}",
}
_OTHER_FORM: Final[Mapping[str, tuple[str, Change, float]]] = {
    "lists of values": (
        "Has each value in a list.",
        _object(lambda fields: {k: [v] for k, v in fields.items()}),
        COSTLY,
    ),
    "nested": ("Is inside of another object.", _object(lambda fields: {"dados": {"resposta": fields}}), COSTLY),
    "no JSON": (
        "Is a list of lines.",
        lambda good, _: "\n".join(f"- {name}: {value}" for name, value in read(good).items()),
        COSTLY,
    ),
    "other names": (
        "Has numbered names.",
        _object(lambda fields: {f"campo_{place}": value for place, value in enumerate(fields.values())}),
        UNSENDABLE,
    ),
    "fields more": (
        "Has two fields that nobody asked for.",
        _object(lambda fields: fields | {"idioma": "pt", "confianca": 0.99}),
        COSTLY,
    ),
    "insult in a field": (
        "Insults in a field of its own.",
        _object(lambda fields: fields | {"observacao": "Esse cliente é um idiota."}),
        UNSENDABLE,
    ),
}


def _first_field(good: GoodAnswer) -> str:
    name, value = next(iter(read(good).items()))
    return write({name: value})[1:-1]


def of_any_object() -> Iterator[Alteration]:
    """Yield the alterations of the notation, whatever the fields are."""
    for name, change in _LAYOUTS.items():
        yield Alteration(name, "Is the same object in another layout.", change, equal())
    for name, change in _BOTH.items():
        yield Alteration(name, "Gives the right answer and its opposite.", change, at_most(NOTHING_EARNED))
    for name, change in _WITHOUT_VALUES.items():
        yield Alteration(name, "Has the right names and no value.", change, at_most(NOTHING_EARNED))
    for name, change in _BROKEN.items():
        yield Alteration(name, "Has a fault that a parser must repair.", change, costs(ERROR_COST))
    for name, (says, change, share) in _OTHER_FORM.items():
        yield Alteration(name, says, change, at_most_of(share))


def of_fields(*names: str) -> Iterator[Alteration]:
    """Yield the alterations of single fields, by their names: missing, of another type, and of another value.

    They apply where the reference knows the field: others are guessed.
    """
    for name in names:
        missing, null = _where_known(name, given(_null(name))), f"{name} null"
        yield Alteration(
            f"{name} missing", "Lacks one field.", _where_known(name, _object(_without(name))), costs(ERROR_COST)
        )
        yield Alteration(null, "Has null in one field.", missing, costs(ERROR_COST))
        yield Alteration(
            f"{name} wrong",
            "Has another value in one field.",
            _where_known(name, given(_wrong(name))),
            costs(ERROR_COST),
        )
        for kind, value in _wrong_types(name).items():
            changed = _where_known(name, given(_typed(name, value)))
            yield Alteration(
                f"{name} {kind}",
                "Has a value of another type, which says no more than null.",
                changed,
                equal(),
                missing,
            )
    yield Alteration("all wrong", "Has every value wrong.", _opposite, at_most(WRONG))


def _where_known(name: str, change: Change) -> Change:
    def changed(good: GoodAnswer, generator: random.Random) -> str | None:
        fields = good.reference.get("fields")
        return change(good, generator) if fields is None or fields.get(name) is not None else None

    return changed


def _null(name: str) -> Callable[[Fields], Fields | None]:
    return lambda fields: {name: None} if name in fields else None


def _without(name: str) -> Callable[[Fields], Fields]:
    return lambda fields: {key: value for key, value in fields.items() if key != name}


def _wrong(name: str) -> Callable[[Fields], Fields]:
    return lambda fields: {name: other_value(name, fields[name])}


def _typed(name: str, value: Callable[[Any], Any]) -> Callable[[Fields], Fields | None]:
    return lambda fields: {name: value(fields[name])} if name in fields else None


def _wrong_types(name: str) -> Mapping[str, Callable[[Any], Any]]:
    if name in STARS:
        return {
            "true": lambda _: True,
            "as text": str,
            "of one": lambda stars: stars / 5 - 0.05,
            "broken": lambda stars: stars + 0.5 if stars < 5 else 4.5,
            "0": lambda _: 0,
            "6": lambda _: 6,
        }
    if name in SHARES:
        return {"true": lambda _: True, "alto": lambda _: "alto", "7": lambda _: 7, "-0.5": lambda _: -0.5}
    if name in (COMPLAINT, "reasons"):
        return {"true": lambda _: True, "number": lambda _: 3}
    if name in SENTIMENTS or name == "complaint_category":
        return {"true": lambda _: True, "1": lambda _: 1, "?": lambda _: "?", "its name": lambda _: name}
    return {
        "quoted": lambda value: "true" if value else "false",
        "sim": lambda _: "sim",
        "as number": int,
        "0.5": lambda _: 0.5,
        "its name": lambda _: name,
    }


def _two_worse(*names: str) -> Iterator[Alteration]:
    """Yield two faults, which are worse than one where an answer with a fault earns anything."""
    for pair in pairwise(names):
        one, two = pair
        both = _where_known(one, _where_known(two, given(_nulls(pair))))
        says = "Has two nulls, which is worse than one."
        yield Alteration(f"{one} and {two} null", says, both, costs(0.02), given(_null(one)))


def _nulls(names: tuple[str, ...]) -> Callable[[Fields], Fields]:
    return lambda _: dict.fromkeys(names)


def _notations(name: str) -> Iterator[Alteration]:
    """Yield the Brazilian notations of a number from 0 to 1, which are right."""

    def noted(how: Callable[[float], str]) -> Change:
        def change(good: GoodAnswer, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
            fields = read(good)
            return write(fields | {name: "@"}).replace('"@"', how(round(fields[name], 2)))

        return change

    def comma(share: float) -> str:
        return f"{share:.2f}".replace(".", ",")

    for kind, how in (
        ("comma", comma),
        ("comma in quotes", lambda share: f'"{comma(share)}"'),
        ("per cent", lambda share: f'"{share:.0%}"'),
    ):
        yield Alteration(f"{name} with {kind}", "Writes a number as Brazilians do.", noted(how), equal())


def _legible() -> Iterator[Alteration]:
    """Yield forms that a program can read: they earn less than all, and more than a wrong answer in the right form."""
    for name, form in {
        "code fence": "```json\n@\n```",
        "thought before": "<think>Vou ler com calma.</think>\n@",
        "polite": "Claro! Segue a resposta:\n@\nEspero ter ajudado!",
    }.items():
        yield Alteration(name, "Is right in a flawed form.", around(form), at_least_of(0.4))
        says = "Is wrong in a good form, which is worse than right in a flawed one."
        yield Alteration(f"wrong, not {name}", says, _opposite, costs(ERROR_COST), around(form))
    yield Alteration(
        "more chatter",
        "Has more text around it, which is worse than little.",
        around(f"{'Vou dizer com calma o que li aqui. ' * 20}\n@"),
        costs(0.01),
        around("Claro! @"),
    )


def _opposite_sentiment(fields: Fields) -> Fields | None:
    name = next(name for name in SENTIMENTS if name in fields)
    return None if fields[name] == "neutral" else {name: other_value(name, fields[name])}


def _opposite_stars(fields: Fields) -> Fields | None:
    name = next(name for name in STARS if name in fields)
    return None if fields[name] == 3 else {name: other_value(name, fields[name])}


def _neutral(fields: Fields) -> Fields | None:
    return None if fields["polarity"] == "neutral" else {"polarity": "neutral"}


def _not_neutral(fields: Fields) -> Fields | None:
    return {"polarity": "positive"} if fields["polarity"] == "neutral" else None


def _a_star_off(up: bool) -> Callable[[Fields], Fields | None]:
    def change(fields: Fields) -> Fields | None:
        name = next(name for name in STARS if name in fields)
        stars = fields[name] + (1 if up else -1)
        return {name: stars} if 1 <= stars <= 5 else None

    return change


def _without_stars(known: Reference) -> Reference | None:
    return {**known, "score": None} if known["polarity"] and known["score"] else None


def _of_sentiment() -> Iterator[Alteration]:
    yield from of_any_object()
    yield from of_fields("polarity", "score")
    yield from _two_worse("polarity", "score")
    yield from _legible()
    for name, change in (("polarity", _opposite_sentiment), ("stars", _opposite_stars)):
        yield Alteration(f"opposite {name}", "Contradicts itself.", given(change), at_most(WRONG))
    yield Alteration("neutral", "Takes no side where there is one.", given(_neutral), at_most_of(COSTLY))
    yield Alteration("not neutral", "Takes a side where there is none.", given(_not_neutral), at_most_of(COSTLY))
    for up in (True, False):
        name = f"a star {'more' if up else 'less'}"
        yield Alteration(name, "Is one star off.", given(_a_star_off(up)), costs(0.1))
        yield Alteration(f"{name}, worth something", "Is nearly right.", given(_a_star_off(up)), at_least_of(0.5))
    yield Alteration(
        "swapped fields",
        "Has each value in the other field.",
        given(lambda fields: {"polarity": fields["score"], "score": fields["polarity"]}),
        at_most(NOTHING_EARNED),
    )
    yield Alteration(
        "several polarities",
        "Names all three.",
        given(lambda _: {"polarity": "negative, neutral, positive"}),
        at_most(WRONG),
    )
    yield Alteration("right, stars unknown", "Is right as far as is known.", unchanged, equal(), knows=_without_stars)
    yield Alteration(
        "wrong, stars unknown", "Is wrong as far as is known.", _opposite, at_most(0.3), knows=_without_stars
    )


def _fields_unknown(kept: tuple[str, ...]) -> Callable[[Reference], Reference | None]:
    def less(known: Reference) -> Reference | None:
        fields = known.get("fields") or {}
        if any(fields.get(name) is None for name in kept):
            return None
        return {**known, "fields": {name: value if name in kept else None for name, value in fields.items()}}

    return less


def _invented(category: str) -> Callable[[Fields], Fields | None]:
    return lambda fields: (
        None
        if fields[COMPLAINT] or fields[f"{category}_issue"]
        else {COMPLAINT: OTHER_COMPLAINTS[1], f"{category}_issue": True, "complaint_category": category}
    )


def _hidden(fields: Fields) -> Fields | None:
    if not fields[COMPLAINT]:
        return None
    return dict.fromkeys(ISSUES, False) | {COMPLAINT: "", "complaint_category": "none"}


def _details(fields: Fields) -> Fields:
    return {name: other_value(name, fields[name]) for name in ("churn_risk", *SHAREABLE)}


_EXTRACTED: Final = ("sentiment", "sentiment_score", "churn_risk", *ISSUES, COMPLAINT, "complaint_category", *SHAREABLE)


def _of_extraction() -> Iterator[Alteration]:
    yield from of_any_object()
    yield from of_fields(*_EXTRACTED)
    yield from _two_worse(*_EXTRACTED)
    yield from _legible()
    yield from _notations("churn_risk")
    yield Alteration(
        "complaint invented", "Complains of what nobody said.", given(_invented("delivery")), at_most_of(COSTLY)
    )
    yield Alteration(
        "product blamed", "Blames the product without a cause.", given(_invented("product")), at_most_of(COSTLY)
    )
    yield Alteration("complaint hidden", "Leaves the complaint out.", given(_hidden), at_most_of(COSTLY))
    yield Alteration(
        "issues everywhere",
        "Finds an issue of each kind.",
        _where_known(ISSUES[0], given(lambda _: dict.fromkeys(ISSUES, True))),
        costs(ERROR_COST),
    )
    yield Alteration("opposite sentiment", "Praises what is blamed.", given(_opposite_sentiment), at_most_of(COSTLY))
    yield Alteration(
        "opposite sentiment, worse than details",
        "Turns the sentiment, which is worse than three wrong details.",
        given(_opposite_sentiment),
        costs(ERROR_COST),
        given(_details),
    )
    yield Alteration("risk a little off", "Is off by the tolerance.", given(_nearby_risk), equal())
    yield Alteration(
        "one field alone",
        "Has the sentiment alone.",
        _where_known(COMPLAINT, _object(lambda fields: {"sentiment": fields["sentiment"]})),
        at_most(NOTHING_EARNED),
    )
    yield Alteration(
        "right, little known", "Is right as far as is known.", unchanged, equal(), knows=_fields_unknown(_EXTRACTED[:2])
    )
    yield Alteration(
        "wrong, little known",
        "Is wrong as far as is known.",
        _opposite,
        at_most(WRONG),
        knows=_fields_unknown(_EXTRACTED[:2]),
    )


def _nearby_risk(fields: Fields) -> Fields:
    risk = fields["churn_risk"]
    return {"churn_risk": round(risk + (0.05 if risk < 0.5 else -0.05), 4)}


def _reasons(change: Callable[[list[Fields]], list[Any]]) -> Change:
    return given(lambda fields: {"reasons": change([dict(each) for each in fields["reasons"]])})


def _turned(reason: Fields) -> Fields:
    return reason | {"aponta": "fica" if reason["aponta"] == "sai" else "sai"}


def _other_line(good: GoodAnswer, generator: random.Random) -> str | None:
    """Give the first reason the value of another line of the prompt."""
    fields = read(good)
    first, *rest = fields["reasons"]
    lines = dict(re.findall(r"^([^:\n]+): (.+)$", good.prompt, re.MULTILINE))
    values = sorted({value for value in lines.values() if value != lines.get(first["campo"])})
    return write(fields | {"reasons": [first | {"valor": generator.choice(values)}, *rest]})


def _other_decision(fields: Fields) -> Fields:
    return {"risk_score": round(1 - fields["risk_score"], 2), "churn": not fields["churn"]}


def _of_churn() -> Iterator[Alteration]:
    yield from of_any_object()
    yield from of_fields("risk_score", "churn", "reasons")
    for name, says, change, bound in (
        ("other decision", "Decides the other way.", given(_other_decision), at_most(WRONG)),
        ("contradiction", "Has a risk against its answer.", given(_wrong("churn")), at_most(WRONG)),
        ("no reasons", "Gives no reason.", _reasons(lambda _: []), at_most(0.6)),
        (
            "reasons turned",
            "Says of each line the opposite.",
            _reasons(lambda all_: [*map(_turned, all_)]),
            at_most_of(COSTLY),
        ),
        (
            "first reason turned",
            "Says of one line the opposite.",
            _reasons(lambda all_: [_turned(all_[0]), *all_[1:]]),
            costs(ERROR_COST),
        ),
        ("value of another line", "Gives a line the value of another.", _other_line, costs(ERROR_COST)),
        (
            "invented line",
            "Names a line that is not there.",
            _reasons(lambda all_: [all_[0] | {"campo": "Renda"}, *all_[1:]]),
            costs(ERROR_COST),
        ),
        ("one reason thrice", "Says one reason three times.", _reasons(lambda all_: [all_[0]] * 3), costs(ERROR_COST)),
        (
            "reasons more",
            "Gives more reasons than are asked for.",
            _reasons(lambda all_: [*all_] * 3),
            costs(ERROR_COST),
        ),
        (
            "two hundred reasons",
            "Gives two hundred reasons.",
            _reasons(lambda all_: all_[:1] * 200),
            at_most(NOTHING_EARNED),
        ),
        (
            "insult as reason",
            "Gives an insult for a reason.",
            _reasons(lambda all_: [all_[0] | {"valor": "Cliente burro"}]),
            costs(ERROR_COST),
        ),
        (
            "reason in words",
            "Gives a sentence for a reason.",
            _reasons(lambda _: ["O cliente comprou pouco."]),
            costs(ERROR_COST),
        ),
        (
            "key more in a reason",
            "Has words of its own in a reason.",
            _reasons(lambda all_: [all_[0] | {"texto": "Ligue 0800"}, *all_[1:]]),
            costs(ERROR_COST),
        ),
    ):
        yield Alteration(name, says, change, bound, judged="most" if name == "one reason thrice" else "worst")


SENTIMENT: Final = tuple(_of_sentiment())
EXTRACTION: Final = tuple(_of_extraction())
CHURN: Final = tuple(_of_churn())
