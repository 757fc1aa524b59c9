"""Pseudonyms for identities that are themselves personal data, such as an e-mail address, a CPF or a telephone number.

A digest of a CPF alone could be looked up, for there are few enough of them to try all; so it is keyed, by 32 random
bytes that the state folder keeps and no artifact has (LGPD, Lei 13.709/2018, art. 13, § 4). The same key gives the same
pseudonyms, by which a held-out customer stays held out when the files grow.
"""

import hmac
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import polars as pl

from schemas.errors import InputError
from tasks.personal_data.scrub import personal_identifiers

Found = TypeVar("Found")

KEY_FILE: Final = "identity.key"
KEY_BYTES: Final = 32
DIGITS: Final = 32  # Hexadecimal digits of a pseudonym, as many as Olist's identifiers have.
KINDS: Final[Mapping[str, str]] = {
    "customer_id": "customer",
    "customer_unique_id": "customer",
    "order_id": "order",
    "review_id": "review",
    "seller_id": "seller",
}
"""Kind of an identity by its column: all columns of a kind are replaced, or none, so that they still join."""
OF_PEOPLE: Final = ("customer", "seller")
FULL_NAME: Final = r"^\p{L}[\p{L}'.-]*(?: \p{L}[\p{L}'.-]*)+$"
"""Two words or more without digits, as people are called."""
_HAS_LETTERS: Final = re.compile(r"[^\W\d_]|@")
_PUNCTUATION: Final = re.compile(r"[\W_]+")
IDS_AT_ONCE: Final = 10_000
MOST_NAMES: Final = 0.5
"""Share of a column's values that look like names, from which they are taken for names."""


def open_key(state: Path) -> bytes:
    """Return the key of a state folder, which gets one where it has none."""
    file = state / KEY_FILE
    try:
        if not file.exists():
            state.mkdir(parents=True, exist_ok=True)
            draft = state / f".{KEY_FILE}.{os.getpid()}"
            draft.touch(mode=0o600)
            draft.write_bytes(os.urandom(KEY_BYTES))
            try:
                # Fails where another process was first, whose key then holds.
                os.link(draft, file)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        key = file.read_bytes()
    except OSError as error:
        raise InputError(f"the key {file} cannot be read or made ({error.strerror}); check the state folder") from None
    if len(key) != KEY_BYTES:
        raise InputError(f"{file} is no key of {KEY_BYTES} bytes; put it back from where you keep a copy")
    return key


def pseudonym(key: bytes, identifier: str) -> str:
    """Return the pseudonym of an identifier: that of an e-mail in any case, of a number in any punctuation."""
    plain = identifier.strip().casefold()
    if not _HAS_LETTERS.search(plain):
        plain = _PUNCTUATION.sub("", plain) or plain
    return hmac.digest(key, plain.encode(), "sha256").hex()[:DIGITS]


def personal_kinds(columns: Iterable[tuple[str, str, pl.Series]]) -> list[str]:
    """Return the kinds of identities that hold personal data anywhere, in the order of `KINDS`."""
    found: set[str] = set()
    for name, place, values in columns:
        kind = KINDS[name]
        known = values.drop_nulls().unique(maintain_order=True)
        if kind == "customer" and known.len() and known.str.contains(FULL_NAME).sum() >= MOST_NAMES * known.len():
            raise InputError(
                f"{place} is mapped to {name} and has names of people or places, and two may have the same; map the "
                "column of an id, an e-mail or a CPF instead, or none: then each order is of a person of its own"
            )
        known = known.alias("customer_id" if kind in OF_PEOPLE else "order_id")
        # In parts: where one is some, the others need no search.
        parts = (known.slice(start, IDS_AT_ONCE) for start in range(0, known.len(), IDS_AT_ONCE))
        if kind not in found and any(personal_identifiers(part).any() for part in parts):
            found.add(kind)
    return [kind for kind in dict.fromkeys(KINDS.values()) if kind in found]


def replaced(values: pl.Series, key: bytes) -> pl.Series:
    """Return the pseudonyms of identifiers; null stays null."""
    known = values.drop_nulls().unique(maintain_order=True)
    pseudonyms = pl.Series([pseudonym(key, each) for each in known], dtype=pl.String)
    return values.replace_strict(known, pseudonyms, default=None, return_dtype=pl.String)


def find_known(state: Path, text: str, find: Callable[[str], Found]) -> Found:
    """Find what a text names; a person's e-mail address, CPF or telephone number stands in artifacts as a pseudonym."""
    try:
        return find(text)
    except InputError:
        if (state / KEY_FILE).is_file():
            with suppress(InputError):
                return find(pseudonym(open_key(state), text))
        raise
