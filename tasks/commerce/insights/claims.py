"""Claims of a sentence, judged by its table: what they need to know, and what is found.

Each claim is true, false or not decided; what cannot be read is not decided. A claim needs a column, which is named
right after it, else before it, else is the column of the last number; and a row, the nearest of its clause, else of its
sentence, else of its line. Nothing is claimed where the sentence recommends.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tasks.commerce.insights.sentences import PARTS, AnalysisSentence
from tasks.commerce.insights.speech import word_classes
from tasks.commerce.insights.table import KINDS, Table

DATA_FILES: Final = ("data/lexicons/claim_words.txt",)
WORDS: Final = word_classes("claim_words")
NAMES: Final = frozenset(word for kind in KINDS for word in kind.words)
"""Words that name a column of some table."""


_OPPOSING: Final = frozenset({"(", ",", ":", "r$", "%", "o", "a", "mil", "reais"})
"""Words between a claim and the number to which it is apposed: `R$ 124, o mais baixo`."""


@dataclass(slots=True)
class Claims:
    """Claims of a sentence or a text."""

    true: set[tuple[int, int]] = field(default_factory=set)
    """Cells of which a comparison is rightly claimed, by row and column."""
    false: list[str] = field(default_factory=list)
    """Wrong claims, by their kind."""
    compared: int = 0
    """Right claims."""
    related: int = 0
    """Those of them that relate rows to each other or to all, and name no mere rank."""
    causes: int = 0
    """Causes that no table knows."""
    forecasts: int = 0
    denials: int = 0

    def add(self, other: "Claims") -> None:
        """Add the claims of a sentence."""
        self.true |= other.true
        self.false += other.false
        self.compared += other.compared
        self.related += other.related
        self.causes += other.causes
        self.forecasts += other.forecasts
        self.denials += other.denials

    @property
    def judged(self) -> int:
        """Number of claims that were decided."""
        return self.compared + len(self.false)

    def judge(self, good: bool, kind: str, rows: Iterable[int], column: int) -> None:
        """Count a claim of rows and a column as right or wrong."""
        if good:
            self.compared += 1
            self.related += kind not in ("rank", "none")
            self.true.update((row, column) for row in rows)
        else:
            self.false.append(kind)


@dataclass(frozen=True, slots=True)
class Site:
    """A sentence whose claims are read."""

    sentence: AnalysisSentence
    table: Table
    number_columns: Mapping[int, int]
    """The column of the number at each place."""
    number_rows: Mapping[int, int]
    """The row of the number at each place that is a cell of one."""
    hedged: bool
    """Whether it asks, or says that it may be so."""
    claims: Claims

    def words_before(self, place: int, count: int) -> list[str]:
        """Return the words before a place."""
        return self.sentence.tokens[max(0, place - count) : place]

    def words_after(self, place: int, count: int) -> list[str]:
        """Return the words after a place."""
        return self.sentence.tokens[place + 1 : place + 1 + count]

    def is_denied(self, place: int) -> bool:
        """Return whether the claim at a place is denied."""
        return "nao" in self.words_before(place, 4)

    def column_of(self, place: int, reach: int = 4) -> int | None:
        """Return the column that a claim at a place is about."""
        columns = self.sentence.columns
        right_after = (
            column for there, column in columns if place < there <= place + reach and self._joined(place, there)
        )
        found = next(right_after, self._column_opposite(place))
        if found is None:
            found = self._column_before(place)
        if found is None:
            found = self._column_after(place)
        if found is None:
            found = next((column for _, column in sorted(self.number_columns.items())), self.sentence.carried_column)
        return found

    def _column_opposite(self, place: int) -> int | None:
        """Return the column of the number that stands right behind a claim: `carrinho menor (R$ 112)`."""
        for there in range(place + 1, min(place + 4, len(self.sentence.tokens))):
            if self.sentence.tokens[there] not in _OPPOSING:
                return self.number_columns.get(there)
        return None

    def rows_near(self, place: int) -> list[int]:
        """Return the rows that are the subject at a place: that of the number which it explains, else the named."""
        for there in range(place - 1, max(-1, place - 6), -1):
            if there in self.number_rows:
                return [self.number_rows[there]]
            if self.sentence.tokens[there] not in _OPPOSING:
                break
        return self.sentence.row_near(place)

    def _joined(self, place: int, there: int) -> bool:
        return not any(word in PARTS or word[0].isdigit() for word in self.sentence.tokens[place + 1 : there])

    def _column_before(self, place: int) -> int | None:
        """Return the column named before a place, or that of the last number there if it stands nearer."""
        name = max(((there, column) for there, column in self.sentence.columns if there < place), default=None)
        number = max(((there, column) for there, column in self.number_columns.items() if there < place), default=None)
        if name and (name[0] >= place - 2 or number is None or name[0] > number[0]):
            return name[1]
        return number[1] if number else None

    def _column_after(self, place: int) -> int | None:
        """Return the column that is named or quoted first behind a place."""
        named = [*self.sentence.columns, *self.number_columns.items()]
        return min((each for each in named if each[0] > place), default=(0, None))[1]

    def two_rows(self, place: int, reach: int = 8) -> tuple[int | None, int | None]:
        """Return the rows before and after a comparison."""
        after = [row for there, row in self.sentence.rows if place < there <= place + reach]
        return self.sentence.row_before(place), after[0] if after else None

    def sign(self, direction: int, column: int | None) -> int:
        """Return 1 for more and -1 for less: of 1 and -1 at once, of 2 and -2, good and bad, by the column; else 0."""
        if abs(direction) == 1:
            return direction
        good = self.table.columns[column].good if column is not None else 0
        return good if direction > 0 else -good
