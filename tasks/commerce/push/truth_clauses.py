"""Clauses of a push, for its ground truth: what is said of the offer, and what is no claim at all.

The offer is marked before the clauses are read. A clause that holds it may go on with what
`data/truth/push_claims.toml` lists as its tail, and with nothing else; an opener before it, without a word of the shop,
claims little; from it on, the words are those of harmless appeals, but for two.
"""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from tasks.commerce.truth_text import fold, read_table, stem, words

OFFER: Final = "§"
AGAIN: Final = "◊"
"""The object of the offer, said again without its amount."""
THING: Final = "¶"
PART_OF_THING: Final = "¤"
"""Words of the product without its first."""

_MARKS: Final = re.compile(f"[{OFFER}{AGAIN}{THING}{PART_OF_THING}]")
_WORD: Final = re.compile(r"[^\W_]+")
_RUN: Final = re.compile(r"[¶¤](?:[ -](?:(?:de|do|da|para|com|em|e|a|o) )?[¶¤])+")
_END: Final = re.compile(r"(?:(?!\.\d)[^\w §◊¶¤$%&'\"()+/*#@,:;_-])+")
"""Ends a sentence: its marks, line breaks and emoji."""
_SEGMENT: Final = re.compile(r"[,:;]+(?!\d)| -+ ")
_ADJECTIVE: Final = re.compile(r"¶ (\w+s|\w+(?:ad|id)[oa])\b")
_SHORT: Final = 3
_RARE: Final = 2
"""Words beyond the list that appeals may have."""


class Said(NamedTuple):
    """What a push says beside the offer itself."""

    opener: str
    is_added: bool
    is_denied: bool
    is_other_thing: bool
    mentions: int


def unmarked(folded: str) -> str:
    """Return a text without the signs that mark its parts here."""
    return _MARKS.sub(" ", folded)


@cache
def _names() -> Mapping[str, frozenset[str]]:
    return {fold(product): frozenset(map(fold, said)) for product, said in read_table("push_claims")["names"].items()}


def other_names(product: str) -> frozenset[str]:
    """Return the other names of a folded product."""
    return _names().get(product, frozenset())


def mark_product(text: str, thing: AbstractSet[str], head: str, names: AbstractSet[str]) -> str:
    """Return a folded text in which a sign stands for the product, given by the stems of its words."""
    if names:
        text = re.sub(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b", THING, text)

    def marked(match: re.Match[str]) -> str:
        found = stem(match[0])
        return (THING if found == head else PART_OF_THING) if found in thing else match[0]

    return _RUN.sub(lambda run: THING if THING in run[0] else PART_OF_THING, _WORD.sub(marked, text))


def read_clauses(text: str) -> Said:
    """Return what a text says beside its offer, clause by clause; offer and product are marked in it."""
    sentences = [each.strip(" -") for each in _END.split(text)]
    first = next((place for place, each in enumerate(sentences) if OFFER in each), 0)
    openers, claims = _openers(sentences)
    opener, said = " . ".join(openers), " . ".join(claims)
    is_added = (
        any(_pattern("added").search(each) for each in sentences)
        or _pattern("added_later").search(_pattern("purpose").sub(" ", said)) is not None
        or any(_pattern("bare").search(each) for each in openers)
        or _goes_on(sentences)
        or any(_pattern("attached", "later").search(each) for each in sentences[first + 1 :])
        or _pattern("claims").search(text) is not None
        or not _are_appeals(sentences[first:])
    )
    return Said(opener, is_added, _is_denied(text, claims), _is_other_thing(text), text.count(THING))


def _are_appeals(sentences: Sequence[str]) -> bool:
    """Return whether what is said from the offer on, or from the product before it in its clause, claims nothing.

    Two words beyond the list may name what the product is used with (`Puxa a cadeira!`), but not say what something is
    or who has it, nor stand between the product and the offer.
    """
    if not sentences:
        return True
    before, offer, after = sentences[0].partition(OFFER)
    clause = _SEGMENT.split(before)[-1]
    if THING in clause and not all(map(_is_appeal, words(clause[clause.find(THING) :]))):
        return False
    said = [offer + after, *sentences[1:]]
    rare = {word for each in said for word in words(each) if not _is_appeal(word)}
    if len(rare) > _RARE:
        return False
    for sentence in said:
        found = rare.intersection(spoken := words(sentence))
        # Folded, `é` is `e`: what stands behind it is what something is.
        is_state = found and re.search(
            rf"\be (?:(?:um|uma|o|a|tudo|muito|mais|bem|so) )*(?:{'|'.join(found)})\b", sentence
        )
        endorses = found and spoken[0] in found and _pattern("endorses").search(sentence)
        if found and (is_state or endorses or _pattern("states").search(sentence)):
            return False
    return True


@lru_cache(maxsize=16_384)
def _is_appeal(word: str) -> bool:
    """Return whether a word is one of those that harmless appeals are made of."""
    return not word.isalpha() or stem(word) in _appeals() or _appeals_begin().match(word) is not None


@cache
def _appeals() -> frozenset[str]:
    return frozenset(map(stem, read_table("push_claims")["appeal"]["words"]))


@cache
def _appeals_begin() -> re.Pattern[str]:
    return re.compile("|".join(read_table("push_claims")["appeal"]["begins"]))


def _openers(sentences: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the clauses before the offer's that claim nothing of it, and the others, as they follow each other."""
    openers: list[str] = []
    claims: list[str] = []
    before = any(OFFER in each for each in sentences)
    for sentence in sentences:
        kept: list[str] = []
        for clause in _SEGMENT.split(sentence):
            before = before and OFFER not in clause
            opens = before and not _pattern("shop").search(clause)
            (openers if opens else kept).append(clause.strip(" -"))
        claims.append(", ".join(kept))
    return openers, claims


def _goes_on(sentences: Sequence[str]) -> bool:
    """Whether more is said of the offer, in the sentences that hold it, than an offer's tail."""
    split = [[each.strip(" -") for each in _SEGMENT.split(sentence)] for sentence in sentences]
    whole = any(OFFER in each and THING in each for segments in split for each in segments)
    for segments in split:
        holds = False
        for segment in segments:
            if holds and _pattern("attached").search(segment):
                return True
            if OFFER in segment:
                holds = True
                tail = segment.partition(OFFER)[2]
                # A first mention that names no product is an opener, where another clause has both.
                names = not whole or THING in segment
                if not _is_tail(tail) if names else _pattern("condition").search(tail):
                    return True
            whole = whole and not (OFFER in segment and THING in segment)
    return False


def _is_tail(text: str) -> bool:
    piece, opens = _pattern("tail"), _pattern("tail", "opens")
    place = 0
    while place < len(text):
        if text[place] == " ":
            place += 1
            continue
        if opened := opens.match(text, place):
            return _pattern("condition").search(text, opened.end()) is None
        found = piece.match(text, place)
        if not found or found.end() == place:
            return False
        place = found.end()
    return True


def _is_denied(text: str, claims: Sequence[str]) -> bool:
    if any(_pattern("denied").search(each) for each in claims):
        return True
    # A question that holds the offer is answered by a call or by yes.
    ends = [match.group() for match in _END.finditer(text)]
    parts = [each.strip(" -") for each in _END.split(text)]
    for (asked, answer), end in zip(pairwise(parts), ends, strict=False):
        if OFFER in asked and "?" in end and 0 < len(words(answer)) <= _SHORT:
            return not (_pattern("yes").match(answer) or _pattern("tail", "opens").match(answer) or OFFER in answer)
    return False


def _is_other_thing(text: str) -> bool:
    fine = _fine_adjectives()
    return _pattern("other_thing").search(text) is not None or any(
        match[1] not in fine for match in _ADJECTIVE.finditer(text)
    )


@cache
def _fine_adjectives() -> frozenset[str]:
    return frozenset(read_table("push_claims")["adjectives"]["words"])


@cache
def _pattern(name: str, which: str = "said") -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{each})" for each in read_table("push_claims")[name][which]))
