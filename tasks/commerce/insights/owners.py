"""Owners of a sentence's numbers: the rows that each may belong to.

A number belongs to the row that follows it after a preposition (`19,3% de atrasos em BA`) or in brackets, else to the
row named last before it in its sentence, else to the first that the sentence names, else to the one carried from the
line. As many numbers as rows before or after them may belong to them in order.
"""

from collections.abc import Sequence
from typing import Final

from tasks.commerce.insights.derivations import Written
from tasks.commerce.insights.sentences import AnalysisSentence
from tasks.commerce.insights.speech import word_classes
from tasks.commerce.insights.table import Table

DATA_FILES: Final = ("data/lexicons/figure_words.txt",)
REACH: Final = 5
"""Words between a number and the row that follows it with a preposition."""
_WORDS: Final = word_classes("figure_words")
_OTHERS: Final = _WORDS["others"]
_JOINING: Final = _WORDS["joining"]
_PARTING: Final = _WORDS["parting"]
_RANGE: Final = _WORDS["range"]
_SINCE: Final = frozenset({"desde", "partir", "depois", "apos"})
_MOVED: Final = _WORDS["moved"]
_COMPARING: Final = frozenset(
    {"dobro", "triplo", "metade", "vezes", "acima", "abaixo", "que", "mesmos", "mesmas", "contra", "ante", "sobre"}
)
_AGAINST: Final = frozenset({"contra", "ante"})


def owners_of(each: Written, sentence: AnalysisSentence, table: Table, written: Sequence[Written]) -> list[int]:
    """Return the rows that a number may belong to, by its sentence."""
    place, tokens = each.place, sentence.tokens
    before: int | None = None
    owners: list[int] = []
    since: list[int] = []
    for there, row in sentence.rows:
        if _is_aside(there, place, tokens):
            continue
        if not _SINCE.isdisjoint(tokens[max(0, there - 2) : there]):
            # `R$ 17 desde outubro` may be of any month after it.
            since = _later(row, table)
        if there < place:
            before = row
            continue
        between = tokens[place + 1 : there]
        how = _follows_directly(between)
        if how == _SURELY:
            return [row, *since]
        if before is None and not (
            _COMPARING.isdisjoint(between) and _MOVED.isdisjoint(tokens[max(0, place - 3) : place])
        ):
            return []
        owners = [row if before is None else before]
        if how == _PERHAPS and row not in owners:
            owners.append(row)
        break
    else:
        owners = [] if before is None else [before]
    owners += since
    series = _in_series(each, sentence, written)
    return owners if series is None or series in owners else [*owners, series]


def _is_aside(there: int, place: int, tokens: Sequence[str]) -> bool:
    """Return whether a row stands in a clause that ends before a number: `, que subiu em maio, ficou em R$ 17`."""
    if there > place:
        return False
    if "(" in tokens[:there] and ")" not in tokens[tokens.index("(") : there] and ")" in tokens[there:place]:
        return True
    if "que" not in tokens[:there]:
        return False
    start = max((each for each in range(1, there) if tokens[each] == "que" and tokens[each - 1] == ","), default=place)
    return start < there and "," in tokens[there:place]


def _later(row: int, table: Table) -> list[int]:
    return [other for other in range(len(table.times)) if table.times[other] > table.times[row]]


_SURELY, _PERHAPS, _NO = 2, 1, 0


def _follows_directly(between: Sequence[str]) -> int:
    """Return whether a row behind these words owns the number before them: `em BA`, `(BA`, and perhaps `, de BA`."""
    if not between or len(between) > REACH or any(token[0].isdigit() for token in between):
        return _NO
    if "(" in between[:2]:
        return _SURELY
    words_between = [token for token in between if token not in _GROUP_NOUNS]
    if not words_between or words_between[-1] not in _JOINING or not _PARTING.isdisjoint(between):
        return _NO
    if "," not in between:
        return _SURELY
    return _PERHAPS if between[0] == "," and len(words_between) == 2 else _NO


_GROUP_NOUNS: Final = frozenset({"cartao", "mes", "estado", "categoria"})


def _in_series(each: Written, sentence: AnalysisSentence, written: Sequence[Written]) -> int | None:
    """Return the row of a number in `SP, BA e RJ têm 1, 2 e 3`."""
    rows = list(dict.fromkeys(row for _, row in sentence.rows))
    same = [other for other in written if other.unit == each.unit]
    in_brackets = _in_brackets(each, sentence, same)
    if in_brackets is not None:
        return in_brackets
    if len(rows) < 2 or len(rows) != len(same):
        return None
    all_before = sentence.rows[-1][0] < same[0].place
    return rows[same.index(each)] if all_before or sentence.rows[0][0] > same[-1].place else None


def _in_brackets(each: Written, sentence: AnalysisSentence, same: Sequence[Written]) -> int | None:
    """Return the row of a number in `SP e RJ (3 e 5)`, or in `de SP a RJ (3 para 5)`."""
    tokens, place = sentence.tokens, each.place
    start = max((there for there in range(place) if tokens[there] == "("), default=-1)
    before = [there for there, _ in sentence.rows if there < start]
    if start < 0 or ")" in tokens[start:place] or not before:
        return None
    end = tokens.index(")", place) if ")" in tokens[place:] else len(tokens)
    inside = [other for other in same if start < other.place < end]
    rows = sentence.group(before[-1])
    if len(rows) == 1 and "para" in tokens[start:end]:
        rows = [row for _, row in sentence.rows[:2]]
    return rows[inside.index(each)] if len(rows) == len(inside) > 1 else None


def possible_owners(
    each: Written, owners: list[int], sentence: AnalysisSentence, table: Table
) -> tuple[list[int], int]:
    """Return the rows that may own a number, and how many of them, from the first, surely may."""
    if owners and not _COMPARING.isdisjoint(sentence.tokens[: each.place]):
        # `RJ: R$ 7.005, o dobro do PR, e nota 4,2`: behind what it is compared with, the subject speaks again.
        first = sentence.rows[0][1] if sentence.rows else None
        subject = sentence.carried_row if sentence.from_line or first is None else first
        owners = list(dict.fromkeys([*owners, *(row for row in (first, subject) if row is not None)]))
    alone = not owners
    if alone and sentence.carried_row is not None:
        owners = [sentence.carried_row]
    sure = len(owners) if not alone or sentence.from_line else 0
    # Only a number that no row of its own line claims may be any row's.
    anyone = alone and (not sentence.from_line or not _RANGE.isdisjoint(sentence.tokens[: each.place]))
    compared = not _AGAINST.isdisjoint(sentence.tokens[max(0, each.place - 2) : each.place])
    if anyone or compared or not _OTHERS.isdisjoint(sentence.tokens[each.place + 1 : each.place + 5]):
        owners = [*owners, *range(len(table.names))]
    return owners, sure
