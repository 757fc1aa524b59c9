"""Texts as Brazilian customers type them, their personal values, and the test of a value's removal.

`texts.jsonl` has one text a line. All values are invented: documents' numbers were drawn from a seed with valid check
digits, save those that stand under "CPF" with a wrong one or without their leading zero. More than half of the texts
with values were written one by one, the others made of 66 sentences; whoever wrote them has not seen the patterns.
Detectors were fixed by what they missed of these. `unseen.jsonl` was written after that by another hand, a language
model that had seen no pattern, and `unseen_second.jsonl` later still, by a third hand. The totals of both have decided
which patterns stay, so neither is unseen any more. Who changes patterns may see their totals, never their texts: do
not write patterns by them, or their figures say nothing.

A value counts as removed if at its place no four of its letters and digits in a row were kept, separators left out
("123.456.789-09" is "12345678909"), or, if it has fewer than four, not all of them. Placeholders show what was kept:
the scrubbed text between them is found again in the original, in its order. Where the scrubbed text is not the original
with placeholders in it, nothing counts as removed.
"""

import re
from pathlib import Path
from typing import Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from schemas.json_lines import read_json_lines
from tasks.personal_data.scrub import KINDS as PLACEHOLDERS

TEXTS_FILE: Final = Path(__file__).with_name("texts.jsonl")
UNSEEN_FILES: Final = tuple(TEXTS_FILE.with_name(name) for name in ("unseen.jsonl", "unseen_second.jsonl"))
READABLE: Final = 4
"""Letters or digits in a row that count as readable."""
PLACEHOLDER: Final = re.compile(rf"\[(?:{'|'.join(PLACEHOLDERS)})\]")
Kind = Literal[
    "cpf", "cnpj", "phone", "landline", "spelled_phone", "email", "email_obfuscated", "pix_key", "rg", "cnh", "pis",
    "voter_id", "plate", "birth_date", "card", "cvv", "handle", "profile", "cep", "address", "name",
]  # fmt: skip
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


class PlantedValue(BaseModel):
    """Personal value of a text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind
    value: str = Field(min_length=1)
    """Part of the text, there once; of a profile's address the part that is its owner's."""


class PlantedText(BaseModel):
    """Text of a customer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str
    values: tuple[PlantedValue, ...]
    """None in a harmless text."""


def read_texts(path: Path = TEXTS_FILE) -> tuple[PlantedText, ...]:
    """Return the texts of a file in its order."""
    return read_json_lines(path, PlantedText, "texts")


def removed_places(text: str, scrubbed: str) -> frozenset[int] | None:
    """Return the indices of the characters of a text that placeholders replaced.

    None if the scrubbed text differs from it in anything but placeholders.
    """
    kept = map(re.escape, PLACEHOLDER.split(scrubbed))
    found = re.fullmatch("(.+?)".join(kept), text, re.DOTALL)
    if found is None:
        return None
    return frozenset(place for group in range(1, len(found.groups()) + 1) for place in range(*found.span(group)))


def is_removed(text: str, value: str, scrubbed: str) -> bool:
    """Return whether a value that is in a text once is not readable at its place in the scrubbed text."""
    places = removed_places(text, scrubbed)
    if places is None:
        return False
    start = text.index(value)
    signs = [place for place, sign in enumerate(value, start) if sign.isalnum()]
    longest = run = 0
    for place in signs:
        run = 0 if place in places else run + 1
        longest = max(longest, run)
    return longest < min(READABLE, len(signs))
