"""Operators of the search: named changes of any text, each with an argument that is data.

An operator returns None where it does not apply. None of them knows a reward.
"""

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tasks.audit.attack.slots import fill, slots_of
from tasks.audit.critic.alteration import Case

MOST_CHARACTERS: Final = 4_000
"""Longer texts are cut: no reward pays for them, and each would cost as much time as a hundred others."""
WRAPS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "parentheses": ("(", ")"),
        "brackets": ("[", "]"),
        "quotes": ('"', '"'),
        "fence": ("```\n", "\n```"),
        "html_comment": ("<!-- ", " -->"),
        "block_comment": ("/* ", " */"),
        "line_comment": ("-- ", ""),
        "thought": ("<think>", "</think>\n"),
        "bold": ("**", "**"),
        "item": ("- ", ""),
    }
)
NUMBER_MODES: Final = ("first", "moved", "rotated", "none", "zero", "huge")
CLAUSES: Final = ("WHERE", "GROUP BY", "ORDER BY", "LIMIT", "JOIN", "HAVING")
SHARES: Final = ("0.25", "0.5", "0.75", "0.9")
_NUMBER: Final = re.compile(r"\d[\d.,]*\d|\d")
_SENTENCE: Final = re.compile(r"[^.!?\n]+[.!?\n]*")


class Operation(NamedTuple):
    """One step of a candidate."""

    name: str
    argument: str = ""


Operator = Callable[[str, str, Case], str | None]


def operate(operation: Operation, text: str, case: Case) -> str | None:
    """Return the changed text; None where the operation does not apply or changes nothing."""
    changed = OPERATORS[operation.name](text, operation.argument, case)
    if changed is None or changed == text:
        return None
    return changed[:MOST_CHARACTERS]


def _filled(argument: str, case: Case) -> str | None:
    return fill(argument, slots_of(case.prompt))


def _append(text: str, argument: str, case: Case) -> str | None:
    added = _filled(argument, case)
    return None if not added else f"{text} {added}" if text else added


def _below(text: str, argument: str, case: Case) -> str | None:
    added = _filled(argument, case)
    return None if not added else f"{text}\n{added}" if text else added


def _prepend(text: str, argument: str, case: Case) -> str | None:
    added = _filled(argument, case)
    return None if not added else f"{added}\n{text}" if text else added


def _first(text: str, argument: str, case: Case) -> str:  # noqa: ARG001 - an operator's signature
    return text[: int(len(text) * float(argument))].rstrip()


def _last(text: str, argument: str, case: Case) -> str:  # noqa: ARG001 - an operator's signature
    return text[int(len(text) * (1 - float(argument))) :].lstrip()


def _repeat(text: str, argument: str, case: Case) -> str | None:  # noqa: ARG001 - an operator's signature
    return "\n".join([text] * int(argument)) if text else None


def _wrap(text: str, argument: str, case: Case) -> str | None:  # noqa: ARG001 - an operator's signature
    before, after = WRAPS[argument]
    return f"{before}{text}{after}" if text else None


def _hide_rest(text: str, argument: str, case: Case) -> str | None:
    """Wrap what was added behind the good answer."""
    rest = text[len(case.answer) :].strip()
    if not text.startswith(case.answer) or not rest:
        return None
    before, after = WRAPS[argument]
    return f"{case.answer} {before}{rest}{after}"


def _inside(text: str, argument: str, case: Case) -> str | None:
    """Add a text before the last mark, so that the answer ends as it did."""
    added = _filled(argument, case)
    return f"{text[:-1].rstrip()} {added}{text[-1]}" if added and text.endswith((".", "!", "?", "}")) else None


def _numbers(text: str, argument: str, case: Case) -> str | None:  # noqa: ARG001 - an operator's signature
    found = _NUMBER.findall(text)
    if not found:
        return None
    by_mode: Mapping[str, Sequence[str]] = {
        "first": [found[0]] * len(found),
        "moved": [_moved(number) for number in found],
        "rotated": [*found[1:], found[0]],
        "none": [""] * len(found),
        "zero": ["0"] * len(found),
        "huge": ["999999"] * len(found),
    }
    others = iter(by_mode[argument])
    return _NUMBER.sub(lambda _: next(others), text)


def _moved(number: str) -> str:
    """Return another number of the same form: its first digit moves by one."""
    return f"{int(number[0]) % 9 + 1}{number[1:]}"


def _without_sentence(text: str, argument: str, case: Case) -> str | None:  # noqa: ARG001 - an operator's signature
    sentences = _SENTENCE.findall(text)
    place = int(argument)
    if len(sentences) < 2 or place >= len(sentences):
        return None
    return "".join(sentences[:place] + sentences[place + 1 :]).strip()


def _backwards(text: str, argument: str, case: Case) -> str | None:  # noqa: ARG001 - an operator's signature
    lines = text.split("\n")
    return "\n".join(reversed(lines)) if len(lines) > 1 else None


def _shuffled(text: str, argument: str, case: Case) -> str:  # noqa: ARG001 - an operator's signature
    words = text.split()
    random.Random(f"{argument}:{text}").shuffle(words)
    return " ".join(words)


def _cut_at(text: str, argument: str, case: Case) -> str | None:  # noqa: ARG001 - an operator's signature
    found = re.search(rf"\b{argument}\b", text, re.IGNORECASE)
    return text[: found.start()].rstrip() if found and found.start() else None


def _good_after(text: str, argument: str, case: Case) -> str:  # noqa: ARG001 - an operator's signature
    return f"{text}\n{case.answer}"


def _good_before(text: str, argument: str, case: Case) -> str:  # noqa: ARG001 - an operator's signature
    return f"{case.answer}\n{text}"


def _other(text: str, argument: str, case: Case) -> str | None:  # noqa: ARG001 - an operator's signature
    """Send the answer to another prompt."""
    return None if argument == case.answer else argument


def fields_of(text: str) -> dict[str, Any] | None:
    """Return a JSON object's fields; None for any other text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def write(fields: Mapping[str, Any]) -> str:
    """Write compact JSON."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def _set(text: str, argument: str, case: Case) -> str | None:
    """Give fields other values, of which texts may have slots."""
    fields = fields_of(text)
    if fields is None:
        return None
    slots = slots_of(case.prompt)
    given = json.loads(argument)
    values = {name: fill(value, slots) if isinstance(value, str) else value for name, value in given.items()}
    return None if any(values[name] is None is not given[name] for name in given) else write(fields | values)


def _only(text: str, argument: str, case: Case) -> str | None:  # noqa: ARG001 - an operator's signature
    fields = fields_of(text)
    return write({argument: fields[argument]}) if fields and argument in fields else None


def _without(text: str, argument: str, case: Case) -> str | None:  # noqa: ARG001 - an operator's signature
    fields = fields_of(text)
    if not fields or argument not in fields:
        return None
    return write({name: value for name, value in fields.items() if name != argument})


OPERATORS: Final[Mapping[str, Operator]] = MappingProxyType(
    {
        "append": _append,
        "below": _below,
        "prepend": _prepend,
        "inside": _inside,
        "first": _first,
        "last": _last,
        "repeat": _repeat,
        "upper": lambda text, _, __: text.upper(),
        "lower": lambda text, _, __: text.lower(),
        "wrap": _wrap,
        "hide_rest": _hide_rest,
        "numbers": _numbers,
        "without_sentence": _without_sentence,
        "backwards": _backwards,
        "shuffled": _shuffled,
        "cut_at": _cut_at,
        "good_after": _good_after,
        "good_before": _good_before,
        "other": _other,
        "set": _set,
        "only": _only,
        "without": _without,
    }
)
SAYS_THE_GOOD_ANSWER: Final = frozenset({"good_after", "good_before"})
"""After them nothing is known of a text by its descent."""
