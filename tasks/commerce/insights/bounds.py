"""Bounds that a sentence sets to rows: `SP e GO entre 3 e 5`, `passam de R$ 22 mil`, `13% ou mais nos outros`.

A bound is right if it holds for all of its rows, and is near to the first value or parts these rows from the others.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from tasks.commerce.insights.derivations import COUNTS, Written, has_unit, rounds
from tasks.commerce.insights.sentences import PARTS, AnalysisSentence
from tasks.commerce.insights.speech import word_classes
from tasks.commerce.insights.table import Table

BOUND: Final = 0.25
"""Largest distance, as a share, between a bound and the first value beyond it, where it parts no rows."""
REACH: Final = 4
"""Words before a number among which it is called a bound."""
_WORDS: Final = word_classes("figure_words")
_SIDES: Final = dict.fromkeys(_WORDS["lower"], 1) | dict.fromkeys(_WORDS["upper"], -1)
_OTHERS: Final = _WORDS["others"]
_MORE_OR_LESS: Final = frozenset({"mais", "menos"})
_OF: Final = frozenset({"de", "do", "dos", "que", "r$"})
_NONE: Final = frozenset({"nao", "nenhum", "nenhuma", "nem"})


def column_bound(
    each: Written, owners: Sequence[int], sentence: AnalysisSentence, table: Table, written: Sequence[Written]
) -> int | None:
    """Return the column of which a number is a right bound; None if it is said to be none, or is a wrong one.

    Args:
        each: The number.
        owners: The rows that it may belong to.
        sentence: Its sentence.
        table: The table.
        written: All numbers of the sentence.
    """
    sign = side_of(each, sentence, written)
    if not sign:
        return None
    named = {column for _, column in sentence.columns}
    every = range(len(table.names))
    rows: Sequence[int] = sentence.row_near(each.place) if sentence.rows else owners or every
    around = sentence.tokens[max(0, each.place - 8) : each.place + 8]
    if not _OTHERS.isdisjoint(around):
        rows = [row for row in every if row not in owners]
    count = None if sentence.rows else _count_said(sentence.tokens[: each.place])
    for column, known in enumerate(table.columns):
        if not has_unit(each, known.unit, True) or (named and column not in named):
            continue
        values = [sign * table.cells[row, column] for row in every if (row, column) in table.cells]
        own = [sign * table.cells[row, column] for row in rows if (row, column) in table.cells]
        if count:
            # Of so many it must hold, whichever they are.
            own = sorted(values)[-count:]
        # Exact to how it is written: 13% bounds 12,5%.
        if not own or (min(own) < sign * each.value and not rounds(each, abs(min(own)), False)):
            continue
        parts = len(own) < len(values) and sorted(values)[-len(own) - 1] < sign * each.value
        if parts or count or abs(min(own) - sign * each.value) <= BOUND * abs(min(own)):
            return column
    return None


def side_of(each: Written, sentence: AnalysisSentence, written: Sequence[Written]) -> int:
    """Return 1 where a number is said to be a lower bound, -1 where an upper one, and 0 where it is none."""
    tokens, place = sentence.tokens, each.place
    for first, second in pairwise(tokens[place + 1 : place + 6]):
        if first == "ou" and second in ("mais", "menos"):
            return 1 if second == "mais" else -1
    start = max((there for there in range(max(0, place - 6), place) if tokens[there] == "entre"), default=-1)
    if start >= 0 and (tokens[start + 1] == "r$" or tokens[start + 1][:1].isdigit()):
        return -1 if any(start < other.place < place for other in written) else 1
    for there in range(place - 1, max(-1, place - 1 - REACH), -1):
        word = tokens[there]
        if word in _SIDES and (word not in _MORE_OR_LESS or tokens[there + 1] in _OF):
            # `Pelo menos` is a lower bound, and `nenhum passa de` an upper one.
            turned = tokens[there - 1 : there] in (["pelo"], ["ao"]) or not _NONE.isdisjoint(
                tokens[max(0, there - 5) : there]
            )
            return -_SIDES[word] if turned else _SIDES[word]
        if word in PARTS or word[0].isdigit():
            break
    return 0


def _count_said(before: Sequence[str]) -> int | None:
    """Return the N of `N das M categorias`, `N estados`."""
    for word, following in pairwise(before):
        if word in COUNTS and (following in ("das", "dos") or following in _WORDS["counted"]):
            return COUNTS[word]
    return None
