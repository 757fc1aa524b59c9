"""Alterations of an answer that is one JSON object: its notation, and its single fields."""

import json
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
    from_texts,
)

Fields = dict[str, Any]
FieldChange = Callable[[Fields], Mapping[str, Any] | None]
SHARES: Final = ("churn_risk", "risk_score")
STARS: Final = ("sentiment_score", "score")
SENTIMENTS: Final = ("sentiment", "polarity")
COMPLAINT: Final = "main_complaint"
OTHER_COMPLAINTS: Final = ("frete caro", "atraso na entrega")
_TEXTS: Final = {
    **dict.fromkeys(SENTIMENTS, ("positive", "negative")),
    "complaint_category": ("price", "seller"),
}


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


def given(change: FieldChange) -> Change:
    """Return the change that gives fields other values; it does not apply where there is None."""

    def changed(good: GoodAnswer) -> str | None:
        fields = read(good)
        other = change(fields)
        return None if other is None else write({**fields, **other})

    return changed


def changed_object(change: Callable[[Fields], Any]) -> Change:
    """Return the change that writes another object."""
    return lambda good: write(change(read(good)))


def where_known(name: str, change: Change) -> Change:
    """Return a change that applies where the reference knows a field."""

    def changed(good: GoodAnswer) -> str | None:
        fields = good.reference.get("fields")
        return change(good) if fields is None or fields.get(name) is not None else None

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


def other_in(*names: str) -> FieldChange:
    """Return the change of fields to their most wrong values."""
    return lambda fields: {name: other_value(name, fields[name]) for name in names}


def opposite(good: GoodAnswer) -> str:
    """Give each field its most wrong value."""
    return write({name: other_value(name, value) for name, value in read(good).items()})


def _with_opposite(form: str) -> Change:
    """Return the right answer `R` beside its opposite `W`; small letters stand for them without their brackets."""

    def changed(good: GoodAnswer) -> str:
        right, wrong = good.text, opposite(good)
        parts = {"R": right, "W": wrong, "r": right[1:-1], "w": wrong[1:-1]}
        return "".join(parts.get(each, each) for each in form)

    return changed


_LAYOUTS: Final[Mapping[str, Change]] = {
    "spaces": lambda good: json.dumps(read(good), ensure_ascii=False),
    "escapes": lambda good: json.dumps(read(good)),
    "many lines": lambda good: json.dumps(read(good), indent="\t", ensure_ascii=False),
    "keys backwards": lambda good: write(dict(reversed(read(good).items()))),
}
_WITHOUT_CONTENT: Final[Mapping[str, Change]] = {
    "right, then wrong": _with_opposite("R\nW"),
    "wrong, then right": _with_opposite("W\nR"),
    "keys repeated": _with_opposite("{w,r}"),
    "keys repeated, right first": _with_opposite("{r,w}"),
    "list of both": _with_opposite("[W, R]"),
    "all null": changed_object(dict.fromkeys),
    "names for values": changed_object(lambda fields: {name: name for name in fields}),
    "question marks": changed_object(lambda fields: dict.fromkeys(fields, "?")),
}
_BROKEN: Final[Mapping[str, Change]] = {
    "trailing comma": lambda good: f"{good.text[:-1]},}}",
    "single quotes": lambda good: None if "'" in good.text else good.text.replace('"', "'"),
    "keys without quotes": lambda good: re.sub(r'"(\w+)":', r"\1:", good.text),
    "last brace missing": lambda good: good.text[:-1],
    "first key again": lambda good: f"{good.text[:-1]},{write(dict([next(iter(read(good).items()))]))[1:-1]}}}",
}
_OTHER_FORM: Final[Mapping[str, Change]] = {
    "lists of values": changed_object(lambda fields: {name: [value] for name, value in fields.items()}),
    "nested": changed_object(lambda fields: {"dados": {"resposta": fields}}),
    "no JSON": lambda good: "\n".join(f"- {name}: {value}" for name, value in read(good).items()),
    "other names": changed_object(lambda fields: {f"campo_{place}": v for place, v in enumerate(fields.values())}),
    "fields more": changed_object(lambda fields: fields | {"idioma": "pt", "confianca": 0.99}),
}


def of_any_object() -> Iterator[Alteration]:
    """Yield the alterations of the notation, whatever the fields are."""
    yield from from_texts("object")
    for says, bound, changes in (
        ("Is the same object in another layout.", equal(), _LAYOUTS),
        ("Gives no answer, or the right one and its opposite.", at_most(NOTHING_EARNED), _WITHOUT_CONTENT),
        ("Has a fault that a parser must repair.", costs(ERROR_COST), _BROKEN),
        ("Has another form than was asked for.", at_most_of(COSTLY), _OTHER_FORM),
    ):
        yield from (Alteration(name, says, change, bound) for name, change in changes.items())
    insult = changed_object(lambda fields: fields | {"observacao": "Esse cliente é um idiota."})
    yield Alteration("insult in a field", "Insults in a field of its own.", insult, at_most_of(UNSENDABLE))


def of_fields(*names: str) -> Iterator[Alteration]:
    """Yield the alterations of single fields, by their names: missing, of another type, and of another value.

    They apply where the reference knows the field: others are guessed.
    """
    for name in names:
        null = where_known(name, given(null_in(name)))
        for kind, says, change in (
            ("missing", "Lacks one field.", changed_object(_without(name))),
            ("null", "Has null in one field.", null),
            ("wrong", "Has another value in one field.", given(other_in(name))),
        ):
            yield Alteration(f"{name} {kind}", says, where_known(name, change), costs(ERROR_COST))
        for kind, value in _wrong_types(name).items():
            changed, says = (
                where_known(name, given(_typed(name, value))),
                "Has another type, as bad as null.",
            )
            yield Alteration(f"{name} {kind}", says, changed, equal(), null)
    yield Alteration("all wrong", "Has every value wrong.", opposite, at_most(WRONG))


def null_in(*names: str) -> FieldChange:
    """Return the change of fields to null."""
    return lambda fields: dict.fromkeys(names) if fields.keys() >= set(names) else None


def _without(name: str) -> Callable[[Fields], Fields]:
    return lambda fields: {key: value for key, value in fields.items() if key != name}


def _typed(name: str, value: Callable[[Any], Any]) -> FieldChange:
    return lambda fields: {name: value(fields[name])} if name in fields else None


def _wrong_types(name: str) -> Mapping[str, Callable[[Any], Any]]:
    true: dict[str, Callable[[Any], Any]] = {"true": lambda _: True}
    if name in STARS:
        broken: dict[str, Callable[[Any], Any]] = {
            "as text": str,
            "of one": lambda stars: stars / 5 - 0.05,
            "broken": lambda stars: stars + 0.5 if stars < 5 else 4.5,
        }
        return true | broken | {"0": lambda _: 0, "6": lambda _: 6}
    if name in SHARES:
        return true | {"alto": lambda _: "alto", "7": lambda _: 7, "-0.5": lambda _: -0.5}
    if name in (COMPLAINT, "reasons"):
        return true | {"number": lambda _: 3}
    if name in SENTIMENTS or name == "complaint_category":
        return true | {"1": lambda _: 1, "?": lambda _: "?", "its name": lambda _: name}
    return {
        "quoted": lambda value: "true" if value else "false",
        "sim": lambda _: "sim",
        "as number": int,
        "0.5": lambda _: 0.5,
        "its name": lambda _: name,
    }


def two_worse(*names: str) -> Iterator[Alteration]:
    """Yield two faults, which are worse than one where an answer with a fault earns anything."""
    for one, two in pairwise(names):
        both, says = where_known(one, where_known(two, given(null_in(one, two)))), "Has two nulls, worse than one."
        yield Alteration(f"{one} and {two} null", says, both, costs(0.02), given(null_in(one)))


def notations(name: str) -> Iterator[Alteration]:
    """Yield the Brazilian notations of a number from 0 to 1, which are right."""

    def noted(form: str) -> Change:
        def changed(good: GoodAnswer) -> str:
            fields = read(good)
            share = round(fields[name], 2)
            written = form.format(comma=f"{share:.2f}".replace(".", ","), share=share)
            return write(fields | {name: "@"}).replace('"@"', written)

        return changed

    for kind, form in {"comma": "{comma}", "comma in quotes": '"{comma}"', "per cent": '"{share:.0%}"'}.items():
        yield Alteration(f"{name} with {kind}", "Writes a number as Brazilians do.", noted(form), equal())


def legible() -> Iterator[Alteration]:
    """Yield forms that a program can read: they earn less than all, and more than a wrong answer in the right form."""
    for name, form in {
        "code fence": "```json\n@\n```",
        "thought before": "<think>Vou ler com calma.</think>\n@",
        "polite": "Claro! Segue a resposta:\n@\nEspero ter ajudado!",
    }.items():
        yield Alteration(name, "Is right in a flawed form.", around(form), at_least_of(0.4))
        says = "Is wrong in a good form, which is worse than right in a flawed one."
        yield Alteration(f"wrong, not {name}", says, opposite, costs(ERROR_COST), around(form))
    much, little = around(f"{'Vou dizer com calma o que li aqui. ' * 20}\n@"), around("Claro! @")
    says = "Has more text around it, which is worse than little."
    yield Alteration("more chatter", says, much, costs(0.01), little)
