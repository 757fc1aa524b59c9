"""Replacement of personal data by typed placeholders, such as `[CPF]` (LGPD, Lei 13.709/2018, art. 5).

Texts are normalized as people paste them: any script's digits, any dash and any space become plain ones, and zero-width
characters between them are ignored. Only the value itself is replaced; a web address with a secret is replaced
completely, from its scheme or host to its last character, since its host and path may identify the person as much as
its secret does. All else stays byte for byte. No value is stored, logged or raised.
"""

import re
import unicodedata
from collections import Counter
from typing import Final

import polars as pl
from stdnum.br import cnpj

from tasks.personal_data.detectors.context import KINDS, Found, Kind, Span, digits_of
from tasks.personal_data.detectors.numbers import find_numbers
from tasks.personal_data.detectors.phones import is_phone
from tasks.personal_data.detectors.profiles import find_handles, find_profile_addresses
from tasks.personal_data.detectors.spelled_digits import find_spelled
from tasks.personal_data.detectors.suspects import may_hold_personal_data
from tasks.personal_data.detectors.taxpayers import is_cpf
from tasks.personal_data.detectors.web_addresses import find_emails, find_urls

__all__ = [
    "KINDS",
    "Kind",
    "may_hold_personal_data",
    "names_a_person",
    "personal_identifiers",
    "scrub",
    "scrub_column",
]

OF_PEOPLE: Final = ("customer_id", "source")
"""Columns in which a bare number may be a telephone or a CPF; elsewhere it numbers orders and reviews."""

_MOST_PASSES: Final = 4
"""A placeholder leaves its surroundings as they are, so each further pass only finds what the previous one
uncovered."""
_HAS_NO_MARK: Final = re.compile(r"[0-9A-Za-z]*")


def scrub(text: str) -> tuple[str, Counter[Kind]]:
    """Replace the personal data in a text.

    Args:
        text: Any text; read in time linear in its length.

    Returns:
        The text with placeholders, and the number of each kind, without zeros. Scrubbing a scrubbed text again changes
        nothing.
    """
    counts: Counter[Kind] = Counter()
    for _ in range(_MOST_PASSES):
        found = _find(text)
        if not found:
            break
        counts.update(kind for _, _, kind in found)
        edges = [0, *(edge for start, end, _ in found for edge in (start, end)), len(text)]
        kept = [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
        text = kept[0] + "".join(f"[{kind}]{rest}" for (_, _, kind), rest in zip(found, kept[1:], strict=True))
    return text, counts


def scrub_column(texts: pl.Series) -> list[tuple[str, Counter[Kind]]]:
    """Scrub each text of a column; what cannot hold personal data is not searched, which takes a hundred times as long.

    Args:
        texts: Strings without nulls.
    """
    suspect = texts.to_frame().select(may_hold_personal_data(texts.name)).to_series()
    return [scrub(text) if flag else (text, Counter()) for text, flag in zip(texts, suspect, strict=True)]


def names_a_person(identifier: str) -> bool:
    """Return whether an identifier is itself an e-mail address, a CPF, a punctuated CNPJ or a telephone with +55."""
    plain = _plain(identifier)[0].strip()
    number = digits_of(plain)
    if _HAS_NO_MARK.fullmatch(plain):
        return plain.isdigit() and is_cpf(plain)
    if re.fullmatch(r"\d{3}[ .]?\d{3}[ .]?\d{3}[ ./-]?\d{2}", plain):
        return is_cpf(number)
    if re.fullmatch(r"[a-z\d]{2}\.?[a-z\d]{3}\.?[a-z\d]{3}/[a-z\d]{4}-?\d{2}", plain):
        return bool(cnpj.is_valid(plain))
    if plain.startswith("+"):
        return number.startswith("55") and len(number) in {12, 13} and is_phone(number[2:])
    emails = find_emails(plain)
    return len(emails) == 1 and emails[0] == (0, len(plain))


def personal_identifiers(identifiers: pl.Series) -> pl.Series:
    """Return of each identifier whether it is personal data; the series has the name of its column."""
    # Most shops name their rows by 32 hexadecimal digits, as Olist does: these need no full search.
    odd = ~identifiers.str.contains(r"^[0-9a-f]{32}$").fill_null(value=True)
    names = identifiers.filter(odd).unique()
    suspect = names.to_frame().select(may_hold_personal_data(names.name)).to_series()
    verdicts = {
        name: _is_personal(name, identifiers.name, may_hold=flag) for name, flag in zip(names, suspect, strict=True)
    }
    return identifiers.replace_strict(verdicts, default=False, return_dtype=pl.Boolean)


def _is_personal(name: str, column: str, *, may_hold: bool) -> bool:
    if name.isdecimal() and column not in OF_PEOPLE:
        return False
    return names_a_person(name) or (may_hold and scrub(name)[0] != name)


def _find(text: str) -> list[Found]:
    plain, places = _plain(text)
    profiles = find_profile_addresses(plain)
    plain = _hidden(plain, profiles)
    secret, harmless = find_urls(plain)
    plain = _hidden(plain, sorted(secret + harmless))
    emails = find_emails(plain)
    plain = _hidden(plain, emails)
    handles = find_handles(plain)
    plain = _hidden(plain, handles)
    spelled = find_spelled(plain)
    plain = _hidden(plain, [(start, end) for start, end, _ in spelled])
    named: tuple[tuple[Kind, list[Span]], ...] = (
        ("PERFIL", profiles), ("URL", secret), ("EMAIL", emails), ("PERFIL", handles),
    )  # fmt: skip
    found = [(*span, kind) for kind, spans in named for span in spans]
    found += spelled + find_numbers(plain)
    found.sort()
    return found if places is None else [(places[start], places[end], kind) for start, end, kind in found]


def _hidden(text: str, spans: list[tuple[int, int]]) -> str:
    """Replace spans by a filler that is never part of a value nor separates a value from its neighbour."""
    parts: list[str] = []
    last = 0
    for start, end in spans:
        parts += text[last:start], "]" * (end - start)
        last = end
    return "".join([*parts, text[last:]]) if parts else text


def _plain(text: str) -> tuple[str, list[int] | None]:
    """Return a text in lower case and plain characters, and the position of each; no positions if none is left out."""
    if text.isascii():
        return text.lower(), None
    plain = text.translate(_PLAIN_SIGNS)
    if len(plain) == len(text):
        return plain, None
    return plain, [*(place for place, sign in enumerate(text) if _PLAIN_SIGNS[ord(sign)] is not None), len(text)]


class _PlainSigns(dict[int, int | None]):
    """Lazy map of code points to their normalized form."""

    def __missing__(self, code: int) -> int | None:
        sign = chr(code)
        category = unicodedata.category(sign)
        lower = sign.lower()
        plain: int | None
        if category in {"Mn", "Me", "Cf"}:
            plain = None
        elif category == "Nd":
            plain = ord("0") + unicodedata.digit(sign)
        elif category == "Zs":
            plain = ord(" ")
        elif category == "Pd" or sign == "\N{MINUS SIGN}":
            plain = ord("-")
        elif sign == "\N{SMALL COMMERCIAL AT}":
            plain = ord("@")
        elif "\uff01" <= sign <= "\uff5e":
            plain = ord(chr(code - 0xFEE0).lower())
        else:
            plain = ord(lower) if len(lower) == 1 else code
        self[code] = plain
        return plain


_PLAIN_SIGNS: Final = _PlainSigns()
