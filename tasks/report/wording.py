"""Wording of the reports' messages: in English where they are made, as with gettext, and as a catalogue has them."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from tasks.report.language import language

DATA_FILES: Final = ("data/languages/pt",)
_FOLDER: Final = Path(__file__).resolve().parents[2] / DATA_FILES[0]


def worded(message: str, **values: object) -> str:
    """Return a message in the language that is spoken.

    Args:
        message: In English, with places such as `{task}` for the values; one without a translation stays English.
        values: Numbers as text (see `tasks.report.number_format`). Without any, braces are braces.
    """
    if language() != "en":
        message = catalogue().get(message, message)
    return message.format(**values) if values else message


def counted(number: int, one: str, many: str) -> str:
    """Return the message for one thing or for any other number of them, whose place is `{n}`."""
    return worded(one if number == 1 else many, n=number)


@cache
def catalogue() -> Mapping[str, str]:
    """Return the Portuguese messages by the English ones."""
    messages: dict[str, str] = {}
    for file in sorted(_FOLDER.glob("*.toml")):
        messages |= tomllib.loads(file.read_text(encoding="utf-8"))
    return messages
