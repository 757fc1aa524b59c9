"""Alterations of an answer that is one JSON object: its notation, and its single fields."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tasks.audit.alterations import bounds
from tasks.audit.alterations.library import Change, GoodAnswer, from_texts, within

Fields = dict[str, Any]
FieldChange = Callable[[Fields], Mapping[str, Any] | None]
STARS: Final = ("sentiment_score", "score")
SENTIMENTS: Final = ("sentiment", "polarity")
COMPLAINT: Final = "main_complaint"
OTHER_COMPLAINTS: Final = ("frete caro", "atraso na entrega")
_TEXTS: Final = {
    **dict.fromkeys(SENTIMENTS, ("positive", "negative")),
    "complaint_category": ("price", "seller"),
}


def read(good: GoodAnswer) -> Fields:
    """Return the fields of an answer; ValueError where it is no JSON."""
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
_INSULT: Final = changed_object(lambda fields: fields | {"observacao": "Esse cliente é um idiota."})
ANY_OBJECT: Final = (
    *from_texts("object"),
    *within(bounds.EQUAL, _LAYOUTS),
    *within(bounds.NOTHING_EARNED, _WITHOUT_CONTENT),
    *within(bounds.ERROR_COST, _BROKEN),
    *within(bounds.COSTLY, _OTHER_FORM),
    *within(bounds.UNSENDABLE, {"insult in a field": _INSULT}),
)
"""Alterations of the notation, whatever the fields are."""
