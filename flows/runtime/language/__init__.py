"""Language of a run on the terminal: sentences are English where they are made, and are printed as `pt.toml` has them.

Documents, logs and artifacts are not changed by it.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from schemas.config.section import Language

TEXTS: Final = Path(__file__).with_name("pt.toml")
_PLACE: Final = re.compile(r"\\\{(\w+)\\\}")
_WORDS: Final = frozenset({"task", "stage", "count", "step", "done", "all"})
"""Places that are one word; another may be any text."""
LONGEST: Final = 1_000
"""Characters of a line of ours; what a shopper wrote may be longer, and take long to compare."""
_spoken: "Language" = "en"


def speak(language: "Language") -> None:
    """Print from now on in a language."""
    global _spoken  # noqa: PLW0603 - one terminal, set by the command
    _spoken = language


def run_language() -> "Language":
    """Return the language that is spoken on the terminal."""
    return _spoken


def in_language(text: str) -> str:
    """Return lines of the terminal in the language of the run; one that the texts do not have stays English."""
    return text if _spoken == "en" else "\n".join(map(_line, text.split("\n")))


def _line(line: str) -> str:
    sentence = line.lstrip()
    return line if len(line) > LONGEST else line[: len(line) - len(sentence)] + _translated(sentence)


def _translated(sentence: str) -> str:
    for pattern, portuguese in _patterns().items():
        if found := pattern.fullmatch(sentence):
            # A place such as `{sentence}` holds one, as behind `warning: `; others hold names, numbers and paths.
            values = found.groupdict()
            values |= {name: _translated(values[name]) for name in values if name.startswith("sentence")}
            return portuguese.format(**values)
    return sentence


@cache
def _patterns() -> Mapping[re.Pattern[str], str]:
    """Return the Portuguese sentences by patterns of the English ones, in the file's order."""
    texts = tomllib.loads(TEXTS.read_text(encoding="utf-8"))
    return {re.compile(_PLACE.sub(_as_group, re.escape(english))): text for english, text in texts.items()}


def _as_group(place: re.Match[str]) -> str:
    sign = r"\S" if place[1] in _WORDS else "."
    return f"(?P<{place[1]}>{sign}+?)"
