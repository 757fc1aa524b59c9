"""Sentences of an analysis, with the table's rows, columns and numbers that they name.

A text is folded and split once. Punctuation stays among a sentence's tokens, as it parts clauses; a list item begins a
line, and what a heading or an earlier sentence of the line named is carried on.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from tasks.commerce.insights.table import SHORT_MONTHS, Table

MAX_SENTENCES: Final = 60
MAX_TOKENS: Final = 120
"""Tokens of a sentence that are read; an analyst's have thirty."""
MAX_MARKS: Final = 24
"""Numbers, rows and columns that are read in a sentence."""

_TOKEN: Final = re.compile(
    r"r\$|\d{1,2}[oa]\b|\d+(?:[.,]\d+)*|[a-z]+|%|\n|[.!?;](?=\s|$)|[,:()/]|(?<=\s)-(?=\s)|[^\W\d_a-z]+"
)
_ENDS: Final = frozenset("\n.!?;")
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
    line: int
    heading: bool
    asks: bool
    carried_row: int | None = None
    """The row named last before it in its line, or by a heading."""
    carried_column: int | None = None
    first: bool = True
    """Whether it is the first of its line."""
    from_line: bool = False
    """Whether the carried row stands in its own line."""

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
        subjects = [each for each in before if _COMPARING.isdisjoint(self.tokens[max(0, each[0] - 4) : each[0]])]
        if subjects:
            return self.group(subjects[-1][0])
        if before:
            return self.group(before[-1][0])
        if after:
            return self.group(after[0][0])
        return [] if self.carried_row is None else [self.carried_row]

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


_COMPARING: Final = frozenset({"dobro", "triplo", "metade", "vezes"})
_JOINS: Final = frozenset(
    {"e", ",", "a", "o", "em", "no", "na", "de", "do", "da", "cartao", "feira", "/", "-", "2016", "2017", "2018"}
)


def tokens_of(folded: str) -> list[str]:
    """Return a folded text's words, numbers and punctuation."""
    return _TOKEN.findall(folded)


def words_among(tokens: Sequence[str]) -> list[str]:
    """Return the words and numbers alone."""
    return [word for word in tokens if word not in _PUNCTUATION]


_PUNCTUATION: Final = _ENDS | PARTS
_PARTS_AND_CONJUNCTIONS: Final = (PARTS | _CONJUNCTIONS) - {"/"}


def sentences_of(tokens: list[str], table: Table, headings: Sequence[bool]) -> Iterator[AnalysisSentence]:
    """Yield the sentences of a text.

    Args:
        tokens: The text's `tokens_of`.
        table: Its table.
        headings: Of each line, whether it is a heading.
    """
    line = count = start = 0
    carried: tuple[int | None, int | None] = (None, None)
    of_heading: tuple[int | None, int | None] = (None, None)
    in_line, first = False, True
    ends = [place for place, word in enumerate(tokens) if word in _ENDS]
    ends.append(len(tokens))
    for end in ends:
        word = tokens[end] if end < len(tokens) else "\n"
        if start < end:
            heading = line < len(headings) and headings[line]
            sentence = _sentence(tokens[start : min(end, start + MAX_TOKENS)], table, line, heading, word == "?")
            sentence.carried_row, sentence.carried_column = carried
            sentence.from_line = in_line
            sentence.first, first = first, False
            row = sentence.rows[-1][1] if sentence.rows else carried[0]
            column = sentence.columns[-1][1] if sentence.columns else carried[1]
            carried = row, column
            in_line = in_line or bool(sentence.rows)
            if heading:
                of_heading = carried
            yield sentence
            count += 1
            if count == MAX_SENTENCES:
                return
        start = end + 1
        if word == "\n":
            line += 1
            first = True
            carried = of_heading if of_heading[0] is not None else (carried[0], None)
            in_line = of_heading[0] is not None


def _sentence(tokens: list[str], table: Table, line: int, heading: bool, asks: bool) -> AnalysisSentence:
    rows: list[tuple[int, int]] = []
    columns: list[tuple[int, int]] = []
    numbers: list[int] = []
    names = table.names_of_words
    last = len(tokens) - 1
    # Signs and digits sort before letters: one comparison skips most words.
    for place in [place for place, word in enumerate(tokens) if word < "a" or word in names]:
        word = tokens[place]
        named = names.get(word)
        if named is None:
            if word[-1].isdigit():
                numbers.append(place)
            continue
        of_row, index = named
        if not of_row:
            columns.append((place, index))
        elif _is_row(word, tokens[place + 1] if place < last else ""):
            rows.append((place, index))
    # A name, as in `seguro contra roubo`, parts nothing.
    parting = _PARTS_AND_CONJUNCTIONS.difference(names)
    clauses: list[int] = list(accumulate(map(parting.__contains__, tokens)))
    return AnalysisSentence(
        tokens, clauses, rows[:MAX_MARKS], columns[:MAX_MARKS], numbers[:MAX_MARKS], line, heading, asks
    )


def _is_row(word: str, following: str) -> bool:
    """Return whether a row's name is one here: `segunda maior` is a rank, and `set` a month in `set/2017` only."""
    return following not in RANKED and (len(word) > 3 or word not in SHORT_MONTHS or following == "/")
