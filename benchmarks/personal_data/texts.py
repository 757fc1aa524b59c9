"""Texts as Brazilian customers type them, with the personal values that are in them; harmless ones have none.

`texts.jsonl` has one text a line. All values are invented: documents' numbers were drawn from a seed with valid check
digits, save those that stand under "CPF" with a wrong one or without their leading zero. More than half of the texts
with values were written one by one, the others made of 66 sentences; whoever wrote them has not seen the patterns.
Detectors were mended by what they missed of these. `unseen.jsonl` was written after that by another hand, a language
model that had seen no pattern, and `unseen_second.jsonl` later still, by a third hand. The totals of both have decided
which patterns stay, so neither is unseen any more. Who mends patterns may see their totals, never their texts: do
not write patterns by them, or their figures say nothing.
"""

from pathlib import Path
from typing import Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from schemas.json_lines import read_json_lines

TEXTS_FILE: Final = Path(__file__).with_name("texts.jsonl")
UNSEEN_FILES: Final = tuple(TEXTS_FILE.with_name(name) for name in ("unseen.jsonl", "unseen_second.jsonl"))
Kind = Literal[
    "cpf",
    "cnpj",
    "phone",
    "landline",
    "spelled_phone",
    "email",
    "email_obfuscated",
    "pix_key",
    "rg",
    "cnh",
    "pis",
    "voter_id",
    "plate",
    "birth_date",
    "card",
    "cvv",
    "handle",
    "profile",
    "cep",
    "address",
    "name",
]
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
    """Return the texts of a file in its order.

    Raises:
        InputError: The file cannot be read, or a line is no such text.
    """
    return read_json_lines(path, PlantedText, "texts")
