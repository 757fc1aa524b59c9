r"""Beginnings of words without which a pattern cannot match, so that few patterns are tried on a text.

A pattern is one of `churn_claims.toml`: literals, groups with alternatives, `?`, `*`, `+`, classes, `\w`, `\d` and
lookarounds. A reader of just these is simpler than the private one of `re`.
"""

from dataclasses import dataclass
from typing import Final

KEY: Final = 6
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


def keys_of(pattern: str) -> tuple[Keys, ...]:
    """Return sets of beginnings of words; a text that matches holds one of each set, and the first sets are rarest."""
    sequences, end = _alternatives(pattern, 0)
    if end != len(pattern):
        raise ValueError(f"{pattern!r} has a parenthesis too many")
    return tuple(sorted(_of_alternatives(sequences, starts=True)[0], key=_rarity, reverse=True))


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


def _of_alternatives(sequences: list[list[_Item]], *, starts: bool) -> tuple[list[Keys], bool]:
    """Return the keys of alternatives, and whether a word begins after each of them."""
    found = [_of_sequence(sequence, starts=starts) for sequence in sequences]
    ends = all(end for _, end in found)
    if len(found) == 1:
        return found[0][0], ends
    # A text holds a key of one of the alternatives.
    if not all(keys for keys, _ in found):
        return [], ends
    return [frozenset().union(*(max(keys, key=_rarity) for keys, _ in found))], ends


def _of_sequence(sequence: list[_Item], *, starts: bool) -> tuple[list[Keys], bool]:
    found: list[Keys] = []
    word, at_start = "", starts
    for item in sequence:
        if item.group is not None:
            found += _key(word)
            word = ""
            keys, ends = _of_alternatives(item.group, starts=at_start) if item.group else ([], at_start)
            if item.needed:
                found += keys
                at_start = ends
            else:
                at_start &= ends
            continue
        if not item.needed or item.character == _ANY:
            found += _key(word)
            word, at_start = "", False
        elif item.character == " ":
            found += _key(word)
            word, at_start = "", True
        elif word or at_start:
            word += item.character
            at_start = False
    return [*found, *_key(word)], at_start


def _key(word: str) -> list[Keys]:
    return [frozenset((word[:KEY],))] if len(word) > 1 else []


def _rarity(keys: Keys) -> tuple[int, int]:
    """Return an order in which the keys that fewer texts hold are greater: the longer ones, then the fewer."""
    return min(map(len, keys)), -len(keys)
