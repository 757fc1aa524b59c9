"""The table behind a reference's facts, parsed once for all answers to a prompt.

A fact is `row: statement`, such as `SP: receita de R$ 57.053`. Statements of equal words and signs are one column, and
`data/lexicons/table_columns.txt` says by which other words an analyst names it, which direction of it is good, and
whether its rows add up. Rows that are months are in order of time.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tasks.commerce.insights.quotations import Fact, read_statement, words_of_name
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.months import MONTHS
from tasks.commerce.text.text_form import FUNCTION_WORDS, KEPT_PROMPTS, fold, words

DATA_FILES: Final = ("data/lexicons/table_columns.txt",)
MIDDLING: Final = 0.3
"""Worth of a fact that is neither the first nor the last of its column, unless it is compared with others."""
OTHER_END: Final = 0.6
"""Worth of the last of a column: the best rating, or the fewest delays."""
MAX_ROWS: Final = 40

_MONTHS: Final = {fold(month): place for place, month in enumerate(MONTHS, 1)}
SHORT_MONTHS: Final = {fold(month)[:3]: fold(month) for month in MONTHS}
_FIGURE: Final = re.compile(r"[\d.]+,?\d*")
_MONTH_ROW: Final = re.compile(r"([a-z]+)/(\d{4})")


@dataclass(frozen=True)
class Column:
    """One column of figures."""

    name: str
    unit: str
    """`r$`, `%` or nothing."""
    good: int
    """1 where more is better, -1 where less is, 0 where nobody knows."""
    adds_up: bool
    places: int
    """Decimals of its figures."""
    highest: float
    lowest: float
    total: float
    mean: float


@dataclass(frozen=True, eq=False)
class Table:
    """A table of figures; rows and columns are numbered. Each is kept once, and is equal to itself alone."""

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    cells: Mapping[tuple[int, int], float]
    places: Mapping[tuple[int, int], int]
    """The fact of a cell."""
    columns_of_facts: tuple[int, ...]
    worths: tuple[float, ...]
    """The worth of each fact, in [0, 1], by its rank in its column."""
    row_words: Mapping[str, int]
    column_words: Mapping[str, int]
    times: tuple[int, ...]
    """Months since year 0 of each row; empty where rows are no months."""
    words: frozenset[str]
    """All folded words of names and statements."""
    names_of_words: Mapping[str, tuple[bool, int]]
    """Whether a word names a row, and else a column, with its number; short names of months are rows too."""

    def rank(self, row: int, column: int, high: bool) -> int:
        """Count the rows that are beyond a row in a column: 0 for the leader, or the last."""
        value = self.cells.get((row, column))
        if value is None:
            return len(self.names)
        sign = 1 if high else -1
        return sum(
            sign * other > sign * value
            for each in range(len(self.names))
            if (other := self.cells.get((each, column))) is not None
        )


@dataclass(frozen=True)
class _Kind:
    name: str
    good: int
    adds_up: bool
    words: frozenset[str]


def _read_kinds() -> Iterator[_Kind]:
    for line in read_lexicon("table_columns"):
        name, _, rest = line.partition(" = ")
        sign, how, *names = rest.split()
        yield _Kind(fold(name), 1 if sign == "+" else -1, how == "sum", frozenset(map(fold, names)))


KINDS: Final = tuple(_read_kinds())


@lru_cache(maxsize=KEPT_PROMPTS)
def table_of(facts: tuple[Fact, ...]) -> Table | None:
    """Return the table of a reference's facts; None if they are none, as bare numbers are."""
    cells: dict[tuple[str, tuple[str, ...]], tuple[float, int, str]] = {}
    for place, fact in enumerate(facts):
        name, colon, statement = str(fact).partition(": ")
        numbers, labels = read_statement(statement)
        if not isinstance(fact, str) or not colon or len(numbers) != 1 or not words_of_name(name):
            return None
        cells.setdefault((name, labels), (numbers[0], place, statement))
    names = tuple(dict.fromkeys(name for name, _ in cells))
    said = tuple(dict.fromkeys(column for _, column in cells))
    if not names or len(names) > MAX_ROWS:
        return None
    row_of = {name: row for row, name in enumerate(names)}
    column_of = {labels_said: column for column, labels_said in enumerate(said)}
    figures = {(row_of[name], column_of[column]): value for (name, column), (value, _, _) in cells.items()}
    places = {(row_of[name], column_of[column]): place for (name, column), (_, place, _) in cells.items()}
    columns = tuple(
        _column(labels_of, [cell for (_, column), cell in cells.items() if column == labels_of]) for labels_of in said
    )
    row_words, column_words, times = _row_words(names), _column_words(columns, said), _times(names)
    short = {form: row_words[month] for form, month in SHORT_MONTHS.items() if times and month in row_words}
    worths = [1.0] * len(facts)
    columns_at = [0] * len(facts)
    for cell, place in places.items():
        columns_at[place] = cell[1]
        worths[place] = _worth(figures[cell], columns[cell[1]])
    return Table(
        names,
        columns,
        figures,
        places,
        tuple(columns_at),
        tuple(worths),
        row_words,
        column_words,
        times,
        frozenset(words(" ".join(map(str, facts)))) | FUNCTION_WORDS,
        {word: (False, column) for word, column in column_words.items()}
        | {word: (True, row) for word, row in (short | row_words).items()},
    )


def _worth(value: float, column: Column) -> float:
    ends = (column.highest, column.lowest)
    first, last = ends if column.name != "nota" else ends[::-1]
    return 1.0 if value == first else OTHER_END if value == last else MIDDLING


def _column(said: tuple[str, ...], cells: Sequence[tuple[float, int, str]]) -> Column:
    kind = next((kind for kind in KINDS if kind.name in said or not kind.words.isdisjoint(said)), None)
    values = [value for value, _, _ in cells]
    decimals = max(len(number.partition(",")[2]) for _, _, text in cells for number in _FIGURE.findall(text))
    return Column(
        kind.name if kind else " ".join(said),
        "r$" if "r$" in said else "%" if "%" in said else "",
        kind.good if kind else 0,
        bool(kind and kind.adds_up),
        decimals,
        max(values),
        min(values),
        sum(values),
        sum(values) / len(values),
    )


def _column_words(columns: Sequence[Column], said: Sequence[tuple[str, ...]]) -> dict[str, int]:
    """Return the column that a word names: the first of those that it may name, its own name before another's."""
    named: dict[str, int] = {}
    known = {kind.name: kind.words for kind in KINDS}
    for place, column in enumerate(columns):
        own = known.get(column.name) or frozenset(word for word in said[place] if word.isalpha())
        for word in sorted(own):
            named.setdefault(word, place)
    return named


def _row_words(names: Sequence[str]) -> dict[str, int]:
    """Return the row that a word names; a word shared by several rows names none of them.

    A row whose words all occur in other rows too, as `ferramentas` in `ferramentas de jardim`, is named by them.
    """
    of_row = [[word for word in words_of_name(name) if word.isalpha()] for name in names]
    shared = {word for word, times in Counter(word for row in of_row for word in row).items() if times > 1}
    own = [[word for word in row if word not in shared] or row for row in of_row]
    exact = {word: row for row, row_words in enumerate(own) for word in row_words}
    similar = {
        form: row
        for row, row_words in enumerate(own)
        for word in row_words
        if len(word) > 3
        for form in (word.removesuffix("s"), f"{word}s", f"{word[:-1]}ns")
        if form not in shared
    }
    return similar | exact


def _times(names: Sequence[str]) -> tuple[int, ...]:
    found = [_MONTH_ROW.fullmatch(fold(name)) for name in names]
    if not all(match and match[1] in _MONTHS for match in found):
        return ()
    return tuple(12 * int(match[2]) + _MONTHS[match[1]] for match in found if match)


@lru_cache(maxsize=KEPT_PROMPTS)
def period_of(prompt: str) -> tuple[frozenset[str], frozenset[int]]:
    """Return the months, in short, and the years that a prompt's period spans; nothing if it says none."""
    found = re.search(r"Per[ií]odo: ([a-z]{3})/(\d{4}) a ([a-z]{3})/(\d{4})", prompt)
    if not found:
        return frozenset(), frozenset()
    short = list(SHORT_MONTHS)
    if found[1] not in short or found[3] not in short:
        return frozenset(), frozenset()
    first = 12 * int(found[2]) + short.index(found[1])
    last = 12 * int(found[4]) + short.index(found[3])
    span = range(first, min(last, first + 240) + 1)
    return frozenset(short[month % 12] for month in span), frozenset(month // 12 for month in span)


def successive(table: Table, row: int) -> int | None:
    """Return the row of the month before, among the table's months."""
    earlier = [each for each in range(len(table.names)) if table.times[each] < table.times[row]]
    return max(earlier, key=lambda each: table.times[each]) if earlier else None
