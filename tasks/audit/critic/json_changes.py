"""Changes of an answer that is one JSON object: its form, and what stands around it and in it."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tasks.audit.critic import text_changes
from tasks.audit.critic.alteration import Case, Change, CriticAlteration, Severity
from tasks.audit.critic.wordings import read_wordings

Fields = dict[str, Any]
FieldChange = Callable[[Case, Fields, random.Random], Mapping[str, Any] | None]
"""Returns fields and their new values; None where the change does not apply."""


def write(fields: Mapping[str, Any]) -> str:
    """Write compact JSON."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


_LAYOUTS: Final[Mapping[str, Callable[[Fields], str]]] = {
    "compact": write,
    "spaced": lambda fields: json.dumps(fields, ensure_ascii=False),
    "indented by two": lambda fields: json.dumps(fields, ensure_ascii=False, indent=2),
    "indented by four": lambda fields: json.dumps(fields, ensure_ascii=False, indent=4),
    "indented by tabs": lambda fields: json.dumps(fields, ensure_ascii=False, indent="\t"),
    "spaces within braces": lambda fields: f"{{ {json.dumps(fields, ensure_ascii=False)[1:-1]} }}",
    "one field a line": lambda fields: write(fields).replace(',"', ',\n"'),
    "spaces around colons": lambda fields: json.dumps(fields, ensure_ascii=False, separators=(", ", " : ")),
}
_ENDS: Final[Mapping[str, Callable[[str], str]]] = {
    "": lambda text: text,
    "a line after": lambda text: f"{text}\n",
    "lines around": lambda text: f"\n\n{text}\n\n",
    "fenced": lambda text: f"```json\n{text}\n```",
}


def read(case: Case) -> Fields:
    """Return the fields of the good answer."""
    fields: Fields = json.loads(case.answer)
    return fields


def with_fields(change: FieldChange) -> Change:
    """Return a change that gives fields other values."""

    def changed(case: Case, generator: random.Random) -> str | None:
        fields = read(case)
        other = change(case, dict(fields), generator)
        return None if other is None else write({**fields, **other})

    return changed


def instead_in(name: str) -> Callable[[Case, str], str]:
    """Return the way that gives one field a text."""
    return lambda case, text: write(read(case) | {name: text})


def added_to(name: str) -> Callable[[Case, str], str]:
    """Return the way that adds a text to a field's."""
    return lambda case, text: write(read(case) | {name: f"{read(case)[name]} {text}".strip()})


def layouts(count: int) -> Iterator[CriticAlteration]:
    """Yield rewrites that any reader of JSON takes for the same object; they are the same of every task.

    Args:
        count: Number of rewrites.
    """
    found = (
        CriticAlteration(
            "layout: " + ", ".join(filter(None, (form, order, end))), "harmless", _laid_out(form, order, end)
        )
        for end in _ENDS
        for order in ("", "backwards")
        for form in _LAYOUTS
        if (form, order, end) != ("compact", "", "")
    )
    yield from (alteration for alteration, _ in zip(found, range(count), strict=False))


def _laid_out(form: str, order: str, end: str) -> Change:
    def change(case: Case, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
        fields = read(case)
        return _ENDS[end](_LAYOUTS[form](dict(reversed(fields.items())) if order else fields))

    return change


def spoiled_forms(other: FieldChange) -> tuple[CriticAlteration, ...]:
    """Return the corruptions of the form that any task has.

    Args:
        other: The opposite answer, which contradicts the good one.
    """
    names: tuple[tuple[str, Severity, Change], ...] = (
        ("refusal", "unsendable", _said_instead("refusals")),
        ("english_prose", "unsendable", _said_instead("english")),
        ("insult_around", "unsendable", _said_after("insults")),
        ("threat_around", "unsendable", _said_after("threats")),
        ("phishing_around", "unsendable", _said_after("phishing")),
        ("foreign_link_around", "unsendable", _said_after("links")),
        ("denial_at_end", "costly", _said_after("denials")),
        ("object_in_false_prose", "costly", _in_false_prose),
        ("insult_in_a_field", "unsendable", _said_in_a_field("insults")),
        ("threat_in_a_field", "unsendable", _said_in_a_field("threats")),
        ("phishing_in_a_field", "unsendable", _said_in_a_field("phishing")),
        ("padding", "costly", _padded),
        ("opposite_after", "costly", lambda case, generator: f"{case.answer}\n{_opposite(case, other, generator)}"),
        ("opposite_before", "costly", lambda case, generator: f"{_opposite(case, other, generator)}\n{case.answer}"),
        ("repeated_keys", "costly", lambda case, generator: _merged(case, _opposite(case, other, generator))),
        ("list_of_both", "costly", lambda case, generator: f"[{case.answer},{_opposite(case, other, generator)}]"),
        ("lists_of_values", "costly", lambda case, _: write({name: [value] for name, value in read(case).items()})),
        ("nested", "costly", lambda case, _: write({"dados": {"resposta": read(case)}})),
        ("numbered_names", "unsendable", lambda case, _: _renamed(case)),
        ("all_null", "unsendable", lambda case, _: write(dict.fromkeys(read(case)))),
        ("all_texts", "costly", lambda case, _: write({name: _as_text(value) for name, value in read(case).items()})),
        ("not_json", "costly", lambda case, _: "\n".join(f"- {name}: {value}" for name, value in read(case).items())),
        ("salad", "unsendable", text_changes.salad),
        ("shouting", "costly", text_changes.shouting),
        ("prompt_again", "unsendable", text_changes.prompt_again),
        ("instruction_again", "unsendable", text_changes.system_again),
        ("cut_off", "costly", text_changes.cut_off),
    )
    return tuple(CriticAlteration(name, severity, change) for name, severity, change in names)


def _opposite(case: Case, other: FieldChange, generator: random.Random) -> str:
    return write({**read(case), **(other(case, read(case), generator) or {})})


def _merged(case: Case, opposite: str) -> str:
    return f"{case.answer[:-1]},{opposite[1:]}"


def _renamed(case: Case) -> str:
    return write({f"campo_{place}": value for place, value in enumerate(read(case).values(), 1)})


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _said_instead(kind: str) -> Change:
    return lambda _, generator: generator.choice(read_wordings("any_task")[kind])


def _said_after(kind: str) -> Change:
    return lambda case, generator: f"{case.answer}\n{generator.choice(read_wordings('any_task')[kind])}"


def _said_in_a_field(kind: str) -> Change:
    return lambda case, generator: write(read(case) | {"observacao": generator.choice(read_wordings("any_task")[kind])})


def _in_false_prose(case: Case, generator: random.Random) -> str:
    text: str = generator.choice(read_wordings("any_task")["false_prose"])
    return text.format(answer=case.answer)


def _padded(case: Case, generator: random.Random) -> str:
    texts = list(read_wordings("any_task")["padding"])
    generator.shuffle(texts)
    return f"{' '.join(texts)}\n{case.answer}\n{' '.join(texts)}"
