"""Sentences of an analysis, with the table's rows, columns and numbers that they name.

A text is folded and split once. Punctuation stays among a sentence's tokens, as it parts clauses; a list item begins a
line, and what a heading or an earlier sentence of the line named is carried on.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from tasks.commerce.insights.table import SHORT_MONTHS, Table
from tasks.commerce.text.text_form import KEPT_PROMPTS

MAX_SENTENCES: Final = 60
MAX_TOKENS: Final = 120
"""Tokens of a sentence that are read; an analyst's have thirty."""
LONGEST_KEPT: Final = 400
"""Characters of a line up to which what is read of it is kept."""
MAX_MARKS: Final = 24
"""Numbers, rows and columns that are read in a sentence."""

_TOKEN: Final = re.compile(
    r"r\$|[a-z]+|\d{1,2}[oa]\b|\d+(?:[.,]\d+)*|%|\n|[.!?;](?=\s|$)|[,:()/]|(?<=\s)-(?=\s)|[^\W\d_a-z]+"
)
ENDS: Final = frozenset("\n.!?;")
PARTS: Final = frozenset(",:()-/")
_CONJUNCTIONS: Final = frozenset({"mas", "porem", "enquanto", "contra", "embora"})
RANKED: Final = frozenset(
    {"maior", "menor", "melhor", "pior", "maiores", "menores", "melhores", "piores", "mais", "lugar"}
)


@dataclass(slots=True)
class AnalysisSentence:
    """One sentence and what it names."""

    tokens: list[str]
    clauses: Sequence[int]
    """The clause of each word."""
    rows: list[tuple[int, int]]
    """Place and row of each name of a row."""
    columns: list[tuple[int, int]]
    """Place and column of each name of a column."""
    numbers: list[int]
    """Places of numbers."""
    heading: bool
    asks: bool
    carried_row: int | None
    carried_column: int | None
    opens_item: bool
    from_line: bool
    comments: bool

    def row_near(self, place: int) -> list[int]:
        """Return the rows that are the subject at a place: a group joined by `e` counts as one."""
        clause = self.clauses[place]
        before = [each for each in self.rows if each[0] < place]
        after = [each for each in self.rows if each[0] > place]
        same_before = [each for each in before if self.clauses[each[0]] == clause]
        same_after = [each for each in after if self.clauses[each[0]] == clause]
        if same_before:
            return self.group(same_before[-1][0])
        if same_after:
            return self.group(same_after[0][0])
        if before:
            return self.group(self._subject(before)[0])
        if after:
            return self.group(after[0][0])
        return [] if self.carried_row is None else [self.carried_row]

    def row_carried(self) -> int | None:
        """Return the row that a sentence leaves to the next one: its last that is not only compared with."""
        return self._subject(self.rows)[1] if self.rows else self.carried_row

    def row_before(self, place: int) -> int | None:
        """Return the row that is compared at a place: the last before it that is not itself compared with."""
        before = [each for each in self.rows if each[0] < place]
        return self._subject(before)[1] if before else self.carried_row

    def _subject(self, rows: Sequence[tuple[int, int]]) -> tuple[int, int]:
        subjects = (
            each for each in reversed(rows) if _COMPARING.isdisjoint(self.tokens[max(0, each[0] - 4) : each[0]])
        )
        return next(subjects, rows[-1])

    def group(self, place: int) -> list[int]:
        """Return the rows of the group of names at a place: `SP, BA e RJ`."""
        places = [there for there, _ in self.rows]
        index = places.index(place)
        first = last = index
        while first and self._joined(places[first - 1], places[first]):
            first -= 1
        while last + 1 < len(places) and self._joined(places[last], places[last + 1]):
            last += 1
        return list(dict.fromkeys(row for _, row in self.rows[first : last + 1]))

    def group_of(self, row: int, place: int) -> list[int]:
        """Return the other rows of the group before a place to which a row belongs."""
        if len(self.rows) < 2:
            return []
        there = next((there for there, named in self.rows if named == row and there < place), None)
        return [] if there is None else [other for other in self.group(there) if other != row]

    def _joined(self, one: int, other: int) -> bool:
        between = self.tokens[one + 1 : other]
        return len(between) <= 3 and all(word in _JOINS for word in between)

    def column_near(self, place: int, reach: int = 4) -> int | None:
        """Return the column said at a place: right after it, else before it in its clause or sentence, else after."""
        for there, column in self.columns:
            if place < there <= place + reach and not any(
                word in PARTS or word[0].isdigit() for word in self.tokens[place + 1 : there]
            ):
                return column
        before = [column for there, column in self.columns if there <= place]
        if before:
            return before[-1]
        return self.columns[0][1] if self.columns else self.carried_column


_COMPARING: Final = frozenset({"dobro", "triplo", "metade", "vezes", "que", "contra", "ante", "comparado", "comparada"})
_JOINS: Final = frozenset(
    {"e", ",", "a", "o", "em", "no", "na", "de", "do", "da", "cartao", "feira", "/", "-", "2016", "2017", "2018"}
)


def tokens_of(folded: str) -> list[str]:
    """Return a folded text's words, numbers and punctuation."""
    return _TOKEN.findall(folded)


class AnalysisLine(NamedTuple):
    """One line of a folded text, split once for all answers that have it."""

    text: str
    """With the ends of the lines around it, as a dash may stand at its beginning or its end."""
    tokens: list[str]
    words: list[str]
    ends: list[int]
    """Where sentences end."""


def lines_of(folded: str) -> list[AnalysisLine]:
    """Return the lines of a folded text."""
    pieces = folded.split("\n")
    last = len(pieces) - 1
    lines = []
    for number, piece in enumerate(pieces):
        text = "\n" * (number > 0) + piece + "\n" * (number < last)
        lines.append(split_line(text) if len(text) <= LONGEST_KEPT else split_line.__wrapped__(text))
    return lines


@lru_cache(maxsize=KEPT_PROMPTS)
def split_line(text: str) -> AnalysisLine:
    """Return a line, with the ends of the lines around it, as its words and sentences."""
    tokens = tokens_of(text)
    if text[-1:] == "\n":
        tokens.pop()
    ends = [place for place, word in enumerate(tokens) if word in ENDS]
    return AnalysisLine(text, tokens, words_among(tokens), [*ends, len(tokens)])


def words_among(tokens: Sequence[str]) -> list[str]:
    """Return the words and numbers alone."""
    return [word for word in tokens if word not in _PUNCTUATION]


_PUNCTUATION: Final = ENDS | PARTS
_PARTS_AND_CONJUNCTIONS: Final = (PARTS | _CONJUNCTIONS) - {"/"}


class SentencePlace(NamedTuple):
    """What a sentence needs to know of its text."""

    heading: bool
    asks: bool
    opens_item: bool
    """Whether it begins a list item."""
    carried_row: int | None
    """The row named last before it in its line, or by a heading."""
    carried_column: int | None
    from_line: bool
    """Whether the carried row stands in its own line."""
    comments: bool
    """Whether its line has named a row, a column or a figure before it."""


def sentence_of(tokens: list[str], table: Table, place: SentencePlace) -> AnalysisSentence:
    """Return a sentence with the rows, columns and numbers that it names."""
    rows: list[tuple[int, int]] = []
    columns: list[tuple[int, int]] = []
    numbers: list[int] = []
    names = table.names_of_words
    last = len(tokens) - 1
    # Signs and digits sort before letters: one comparison skips most words.
    for here in [here for here, word in enumerate(tokens) if word < "a" or word in names]:
        word = tokens[here]
        named = names.get(word)
        if named is None:
            if word[-1].isdigit():
                numbers.append(here)
            continue
        of_row, index = named
        if not of_row:
            columns.append((here, index))
        elif _is_row(word, tokens[here + 1] if here < last else ""):
            rows.append((here, index))
    # A name, as in `seguro contra roubo`, parts nothing.
    parting = _PARTS_AND_CONJUNCTIONS.difference(names)
    clauses: list[int] = list(accumulate(map(parting.__contains__, tokens)))
    heading, asks, opens_item, row, column, from_line, comments = place
    return AnalysisSentence(
        tokens,
        clauses,
        rows[:MAX_MARKS],
        columns[:MAX_MARKS],
        numbers[:MAX_MARKS],
        heading,
        asks,
        row,
        column,
        opens_item,
        from_line,
        comments,
    )


def _is_row(word: str, following: str) -> bool:
    """Return whether a row's name is one here: `segunda maior` is a rank, and `set` a month in `set/2017` only."""
    return following not in RANKED and (len(word) > 3 or word not in SHORT_MONTHS or following == "/")
