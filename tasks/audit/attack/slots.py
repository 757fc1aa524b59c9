"""Slots of a prompt: its lines, cells and numbers by name, so that a text becomes a template and works elsewhere."""

import re
from typing import Final

from tasks.commerce.prompt_rule import LINE

_NUMBER: Final = re.compile(r"\d[\d.,]*\d|\d")
_SLOT: Final = re.compile(r"\{([^\W\d][\w ]*)\}")
_SHORTEST: Final = 3
"""Shorter values, such as single digits, stand in a text by chance."""
_LONGEST: Final = 80
"""Longer values are what somebody wrote, and no line of the prompt's own."""
_CAPITAL: Final = "_inicial"
"""End of the name of a value with a capital at its beginning."""
MOST_NUMBERS: Final = 24


def slots_of(prompt: str) -> dict[str, str]:
    """Return what stands in a prompt, by name: its lines `Name: value`, the cells of its table, and its numbers."""
    lines = dict(reversed(LINE.findall(prompt)))
    rows = [line.split(" | ") for line in prompt.split("\n") if " | " in line]
    cells = {
        f"linha{row}_{column}": cell for row, found in enumerate(rows) for column, cell in enumerate(found, start=1)
    }
    numbers = _NUMBER.findall(prompt)[:MOST_NUMBERS]
    capitals = {
        f"{name}{_CAPITAL}": f"{value[:1].upper()}{value[1:]}"
        for name, value in (lines | cells).items()
        if value[:1].islower()
    }
    whole = {"prompt": prompt, "instrucao": prompt.split("\n", 1)[0]}
    return lines | cells | capitals | ({"numeros": ", ".join(numbers)} if numbers else {}) | whole


def fill(template: str, slots: dict[str, str]) -> str | None:
    """Return a template with the prompt's values; None where the prompt has no such slot."""
    if any(name not in slots for name in _SLOT.findall(template)):
        return None
    return _SLOT.sub(lambda slot: slots[slot[1]], template)


def has_slots(template: str) -> bool:
    """Return whether a text names a slot."""
    return bool(_SLOT.search(template))


def as_template(text: str, prompt: str) -> str:
    """Return a text with the prompt's values replaced by their names, the longest values first."""
    known = [
        (name, value)
        for name, value in slots_of(prompt).items()
        if name not in {"prompt", "instrucao", "numeros"} and _SHORTEST <= len(value) <= _LONGEST
    ]
    # A value inside a name that was put in before must not be replaced, so names are put in at the end.
    marks: list[str] = []
    for name, value in sorted(known, key=lambda pair: (-len(pair[1]), pair[0])):
        if value in text:
            text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", f"\0{len(marks)}\0", text)
            marks.append(name)
    return re.sub("\0(\\d+)\0", lambda mark: f"{{{marks[int(mark[1])]}}}", text)
