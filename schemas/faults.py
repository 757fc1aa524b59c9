"""Messages about faults of a document, which repeat nothing that a person may have written, and what was meant."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError

_MOST_NAMED: Final = 5
_MOST_SHOWN: Final = 20
_MOST_PARTS: Final = 8
_KEY: Final = re.compile(r"[a-z_]{1,40}|\[key\]")
_NUMBER: Final = re.compile(r"-?\d{1,4}(?:[.,]\d{1,4})?")
_DIGIT: Final = re.compile(r"\d")
_OF_A_CLOSED_LIST: Final = frozenset({"literal_error", "enum"})


def first_fault(error: ValidationError) -> str:
    """Describe the first fault of a document and its place, and the value there where it reveals no text."""
    fault = error.errors(include_url=False)[0]
    place = shown_place(fault["loc"])
    if fault["type"] == "missing":
        return f"{place} is missing"
    message = fault["msg"].removeprefix("Value error, ")
    return f"{place}: {message} (it is {_shown(fault['input'], fault['type'])})" if place else message


def shown_place(location: Sequence[str | int]) -> str:
    """Return the path of a value; a key that is not a plain name may be a person's own and is left out."""
    shown = [str(part) if isinstance(part, int) or _KEY.fullmatch(part) else "(a key)" for part in location]
    return ".".join(shown[:_MOST_PARTS]) + ("..." if len(shown) > _MOST_PARTS else "")


def _shown(found: Any, fault: str) -> str:
    if isinstance(found, str):
        # Elsewhere even a short text may be a shopper's words or name.
        names_a_choice = fault in _OF_A_CLOSED_LIST and len(found) <= _MOST_SHOWN and not _DIGIT.search(found)
        return repr(found) if names_a_choice or _NUMBER.fullmatch(found) else "a text"
    if isinstance(found, (int, float)) and not isinstance(found, bool) and not _NUMBER.fullmatch(str(found)):
        # A phone number or a CPF without its quotation marks is a number too.
        return "a number"
    return type(found).__name__ if isinstance(found, (dict, list)) else repr(found)


def first_few(faults: Iterable[str]) -> str:
    """Name the first of some faults, and how many more there are."""
    every = list(faults)
    more = f"; and {len(every) - _MOST_NAMED} more" if len(every) > _MOST_NAMED else ""
    return "; ".join(every[:_MOST_NAMED]) + more


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question after the known word that is nearest, to stand behind the word; empty where none is near."""
    near = get_close_matches(word, list(known), n=1)
    return f", did you mean {near[0]!r}?" if near else ""
