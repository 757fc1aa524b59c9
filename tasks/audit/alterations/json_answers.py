"""Alterations of an answer that is one JSON object: its notation, and its single fields."""

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


def opposite(good: GoodAnswer, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    """Give each field its most wrong value."""
    return write({name: other_value(name, value) for name, value in read(good).items()})


def _with_opposite(form: Callable[[str, str], str]) -> Change:
    return lambda good, generator: form(good.text, opposite(good, generator))


def changed_object(change: Callable[[Fields], Any]) -> Change:
    """Return the change that writes another object."""
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
    "all null": changed_object(dict.fromkeys),
    "names for values": changed_object(lambda fields: {name: name for name in fields}),
    "question marks": changed_object(lambda fields: dict.fromkeys(fields, "?")),
}
_BROKEN: Final[Mapping[str, Change]] = {
    "trailing comma": lambda good, _: f"{good.text[:-1]},}}",
    "single quotes": lambda good, _: None if "'" in good.text else good.text.replace('"', "'"),
    "keys without quotes": lambda good, _: re.sub(r'"(\w+)":', r"\1:", good.text),
    "last brace missing": lambda good, _: good.text[:-1],
    "first key again": lambda good, _: f"{good.text[:-1]},{_first_field(good)}}}",
}
_OTHER_FORM: Final[Mapping[str, Change]] = {
    "lists of values": changed_object(lambda fields: {name: [value] for name, value in fields.items()}),
    "nested": changed_object(lambda fields: {"dados": {"resposta": fields}}),
    "no JSON": lambda good, _: "\n".join(f"- {name}: {value}" for name, value in read(good).items()),
    "other names": changed_object(lambda fields: {f"campo_{place}": v for place, v in enumerate(fields.values())}),
    "fields more": changed_object(lambda fields: fields | {"idioma": "pt", "confianca": 0.99}),
    "insult in a field": changed_object(lambda fields: fields | {"observacao": "Esse cliente é um idiota."}),
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
    for name, change in _OTHER_FORM.items():
        share = UNSENDABLE if "insult" in name else COSTLY
        yield Alteration(name, "Has another form than was asked for.", change, at_most_of(share))


def of_fields(*names: str) -> Iterator[Alteration]:
    """Yield the alterations of single fields, by their names: missing, of another type, and of another value.

    They apply where the reference knows the field: others are guessed.
    """
    for name in names:
        missing, null = where_known(name, given(null_in(name))), f"{name} null"
        yield Alteration(
            f"{name} missing", "Lacks one field.", where_known(name, changed_object(_without(name))), costs(ERROR_COST)
        )
        yield Alteration(null, "Has null in one field.", missing, costs(ERROR_COST))
        yield Alteration(
            f"{name} wrong",
            "Has another value in one field.",
            where_known(name, given(other_in(name))),
            costs(ERROR_COST),
        )
        for kind, value in _wrong_types(name).items():
            changed = where_known(name, given(_typed(name, value)))
            yield Alteration(
                f"{name} {kind}",
                "Has a value of another type, which says no more than null.",
                changed,
                equal(),
                missing,
            )
    yield Alteration("all wrong", "Has every value wrong.", opposite, at_most(WRONG))


def where_known(name: str, change: Change) -> Change:
    """Return a change that applies where the reference knows a field."""

    def changed(good: GoodAnswer, generator: random.Random) -> str | None:
        fields = good.reference.get("fields")
        return change(good, generator) if fields is None or fields.get(name) is not None else None

    return changed


def null_in(name: str) -> Callable[[Fields], Fields | None]:
    """Return the change of a field to null."""
    return lambda fields: {name: None} if name in fields else None


def _without(name: str) -> Callable[[Fields], Fields]:
    return lambda fields: {key: value for key, value in fields.items() if key != name}


def other_in(name: str) -> Callable[[Fields], Fields]:
    """Return the change of a field to its most wrong value."""
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


def two_worse(*names: str) -> Iterator[Alteration]:
    """Yield two faults, which are worse than one where an answer with a fault earns anything."""
    for pair in pairwise(names):
        one, two = pair
        both = where_known(one, where_known(two, given(_nulls(pair))))
        says = "Has two nulls, which is worse than one."
        yield Alteration(f"{one} and {two} null", says, both, costs(0.02), given(null_in(one)))


def _nulls(names: tuple[str, ...]) -> Callable[[Fields], Fields]:
    return lambda _: dict.fromkeys(names)


def notations(name: str) -> Iterator[Alteration]:
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
    yield Alteration(
        "more chatter",
        "Has more text around it, which is worse than little.",
        around(f"{'Vou dizer com calma o que li aqui. ' * 20}\n@"),
        costs(0.01),
        around("Claro! @"),
    )
