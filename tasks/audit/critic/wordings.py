"""Wordings of the critic, in `data/audit/critic`: what is said, and where in the good answer it is said."""

import random
import string
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from schemas.tasks import TaskName
from tasks.audit.critic.alteration import Case, Change, CriticAlteration, Severity

DATA_FILES: Final = ("data/audit/critic",)
FOLDER: Final = Path(__file__).resolve().parents[3] / "data" / "audit" / "critic"

Slots = Mapping[str, str]
"""What a wording's braces stand for; a wording with others does not apply."""
SlotsOf = Callable[[Case, random.Random], Slots | None]
Way = Callable[[Case, str], str | None]
"""Puts a wording into the good answer."""


@cache
def read_wordings(name: str) -> Mapping[str, Any]:
    """Return one file of wordings."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def written(name: TaskName, slots: SlotsOf, ways: Mapping[str, Way], rewrites: str) -> Iterator[CriticAlteration]:
    """Yield the alterations that a task's file of wordings says.

    Args:
        name: The task, whose file is read.
        slots: What the braces stand for.
        ways: The ways to put a wording into the good answer, by name; the first is the usual one of corruptions.
        rewrites: The usual way of rewrites.
    """
    document = read_wordings(name)
    for kind, usual in (("corruption", next(iter(ways))), ("rewrite", rewrites)):
        for title, entry in document.get(kind, {}).items():
            severity: Severity = "harmless" if kind == "rewrite" else entry.get("severity", "costly")
            change = said(entry["texts"], slots, ways[entry.get("how", usual)])
            yield CriticAlteration(title, severity, change, entry.get("applies", 1.0))


def said(texts: Sequence[str], slots: SlotsOf, way: Way) -> Change:
    """Return a change that says one of the texts of which every slot is known."""

    def change(case: Case, generator: random.Random) -> str | None:
        known = slots(case, generator)
        fitting = [] if known is None else [text for text in texts if named_slots(text) <= known.keys()]
        return way(case, generator.choice(fitting).format_map(known)) if fitting and known is not None else None

    return change


@cache
def named_slots(text: str) -> frozenset[str]:
    """Return the names in a wording's braces."""
    return frozenset(name for _, name, _, _ in string.Formatter().parse(text) if name)


def capital(text: str) -> str:
    """Return a text with a capital at its beginning."""
    return f"{text[:1].upper()}{text[1:]}"
