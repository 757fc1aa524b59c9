r"""Beginnings of words without which a pattern cannot match, so that few patterns are tried on a text.

A pattern is one of `churn_claims.toml`: literals, groups with alternatives, `?`, `*`, `+`, classes, `\w`, `\d` and
lookarounds. A reader of just these is simpler than the private one of `re`.
"""

from dataclasses import dataclass
from typing import Final

KEY: Final = 4
"""Letters of a key at most."""
_CLASSES: Final = frozenset("wdsb")
_ANY: Final = "\0"
"""Stands for a character that is not known."""

Keys = frozenset[str]


@dataclass
class _Item:
    """A part of a pattern: a character, or a group with its alternatives."""

    character: str
    group: "list[list[_Item]] | None" = None
    needed: bool = True
    """Whether it occurs at least once."""


def keys_of(pattern: str) -> Keys | None:
    """Return beginnings of words, of which every text that matches holds one; None where there are none."""
    sequences, end = _alternatives(pattern, 0)
    if end != len(pattern):
        raise ValueError(f"{pattern!r} has a parenthesis too many")
    return _of_alternatives(sequences, starts=True)[0]


def _alternatives(pattern: str, place: int) -> tuple[list[list[_Item]], int]:
    found: list[list[_Item]] = [[]]
    while place < len(pattern) and pattern[place] != ")":
        sign = pattern[place]
        if sign == "|":
            found.append([])
            place += 1
            continue
        item, place = _item(pattern, place)
        while place < len(pattern) and pattern[place] in "?*+{":
            if pattern[place] == "{":
                item.needed &= pattern[place + 1] != "0"
                place = pattern.index("}", place)
            else:
                item.needed &= pattern[place] == "+"
            place += 1
        found[-1].append(item)
    return found, place


def _item(pattern: str, place: int) -> tuple[_Item, int]:
    sign = pattern[place]
    if sign == "\\":
        known = pattern[place + 1] not in _CLASSES
        return _Item(pattern[place + 1] if known else _ANY), place + 2
    if sign == "[":
        return _Item(_ANY), pattern.index("]", place) + 1
    if sign != "(":
        return _Item(_ANY if sign == "." else sign), place + 1
    inside = place + 1
    looks_around = False
    if pattern[inside] == "?":
        looks_around = pattern[inside + 1] in "=!" or pattern[inside + 1 : inside + 3] in ("<=", "<!")
        named = pattern.startswith("?P<", inside)
        inside = pattern.index(">", inside) + 1 if named else inside + 2 + (pattern[inside + 1] == "<")
    group, end = _alternatives(pattern, inside)
    return _Item("", [] if looks_around else group, needed=not looks_around), end + 1


def _of_alternatives(sequences: list[list[_Item]], *, starts: bool) -> tuple[Keys | None, bool]:
    """Return the keys of alternatives, and whether a word begins after each of them."""
    found: Keys | None = frozenset()
    ends = True
    for sequence in sequences:
        keys, end = _of_sequence(sequence, starts=starts)
        found = None if found is None or keys is None else found | keys
        ends &= end
    return found, ends


def _of_sequence(sequence: list[_Item], *, starts: bool) -> tuple[Keys | None, bool]:
    best: Keys | None = None
    word, at_start = "", starts
    for item in sequence:
        if item.group is not None:
            best = _better(best, _key(word))
            word = ""
            keys, ends = _of_alternatives(item.group, starts=at_start) if item.group else (None, at_start)
            if item.needed:
                best = _better(best, keys)
                at_start = ends
            else:
                at_start &= ends
            continue
        if not item.needed or item.character == _ANY:
            best = _better(best, _key(word))
            word, at_start = "", False
        elif item.character == " ":
            best = _better(best, _key(word))
            word, at_start = "", True
        elif word or at_start:
            word += item.character
            at_start = False
    return _better(best, _key(word)), at_start


def _key(word: str) -> Keys | None:
    return frozenset((word[:KEY],)) if len(word) > 1 else None


def _better(one: Keys | None, other: Keys | None) -> Keys | None:
    """Return the keys that fewer texts hold: the longer ones, then the fewer."""
    if one is None or other is None:
        return other if one is None else one
    return max(one, other, key=lambda keys: (min(map(len, keys)), -len(keys)))
