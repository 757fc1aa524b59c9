"""Numbers of a sentence against the table: each must be a cell of its row and column, or follow from cells.

A number is right if it is

- a cell of its row (`owners`), exact or rounded as people round (`R$ 57 mil`, `quase 20%`), of the column that is said
  beside it;
- a difference, sum, share, ratio or mean of cells, where a word says so (`pontos`, `somam`, `do total`, `vezes`);
- a bound of its rows;
- a goal, a term or a discount in advice, a year of the period, or a place in a ranking.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from tasks.commerce.insights.bounds import column_bound, side_of
from tasks.commerce.insights.derivations import COUNTS, Written, column_followed, has_unit, rounds
from tasks.commerce.insights.owners import owners_of, possible_owners
from tasks.commerce.insights.sentences import AnalysisSentence
from tasks.commerce.insights.speech import word_classes
from tasks.commerce.insights.table import KINDS, Table
from tasks.commerce.text.portuguese_numbers import numbers_of

DATA_FILES: Final = ("data/lexicons/figure_words.txt",)
_OF_ALL: Final = frozenset({"compras", "vendas", "pedidos", "encomendas"})
ALONE: Final = 0.6
"""Grade of a number that no row was named for."""
UNNAMED: Final = 0.55
"""Grade of a number of the right row whose column is not said."""
UNNAMED_REAIS: Final = 0.95
"""The same of an amount in reais."""
LABEL: Final = 3
"""Words in which a line is numbered: `- Ponto 1:`."""
TINY: Final = 1e-9

_WORDS: Final = word_classes("figure_words")
_ABOUT: Final = _WORDS["about"]
_TERM: Final = _WORDS["term"]
_GOAL: Final = _WORDS["goal"]
_COUNTED: Final = _WORDS["counted"]
_KIND_WORDS: Final = {word: kind.name for kind in KINDS for word in kind.words}
_ALL: Final = COUNTS.keys() - {"um", "uma"} | {"todos", "todas", "nenhum", "nenhuma", "ambos", "ambas"}
_UNIT_NEUTRAL: Final = _WORDS["unit_neutral"]


@dataclass(slots=True)
class Figures:
    """Numbers of a sentence or a text, compared with its table."""

    grades: dict[int, float] = field(default_factory=dict)
    """The best grade of each fact that was quoted."""
    derived: set[float] = field(default_factory=set)
    """Numbers that follow from several cells."""
    false: set[float] = field(default_factory=set)
    """Numbers that are wrong or invented."""
    compared: set[tuple[int, int]] = field(default_factory=set)
    """Cells that a sentence quotes beside another row's of the same column."""
    read: int = 0
    """Numbers of the sentence that are no years."""
    cells: list[tuple[int, int]] = field(default_factory=list)
    """The cells of the sentence."""
    columns: dict[int, int] = field(default_factory=dict)
    """The column of the number at each place of the sentence."""
    rows: dict[int, int] = field(default_factory=dict)
    """The row of each of them that is a cell."""

    def quote(self, cell: tuple[int, int], place: int, grade: float) -> None:
        """Add a cell that is quoted, with the place of its fact."""
        self.grades[place] = max(self.grades.get(place, 0.0), grade)
        self.cells.append(cell)

    def add(self, other: "Figures") -> None:
        """Add the numbers of a sentence."""
        for place, grade in other.grades.items():
            self.grades[place] = max(self.grades.get(place, 0.0), grade)
        self.read += other.read
        self.derived |= other.derived
        self.false |= other.false
        self.compared |= other.compared


def read_figures(
    sentence: AnalysisSentence, table: Table, advice: int, years: frozenset[int], figures: Figures
) -> None:
    """Compare a sentence's numbers with the table.

    Args:
        sentence: The sentence.
        table: The table.
        advice: The place from which the sentence recommends.
        years: Years of the period.
        figures: Receives what is found.
    """
    if not sentence.numbers:
        return
    tokens = sentence.tokens
    numbers = [place for place in sentence.numbers if not _is_label(place, tokens)]
    written = [each for place in numbers if (each := _written(place, tokens))]
    for each in written:
        if _is_year(each, sentence.tokens):
            if years and int(each.value) not in years:
                figures.false.add(each.value)
            continue
        figures.read += 1
        if not (
            _is_cell(each, sentence, table, written, figures)
            or _take(each, column_followed(each, sentence, table), figures)
            or _is_term(each, sentence.tokens, advice)
        ):
            figures.false.add(each.value)
    for row, column in figures.cells:
        if any(other != row and same == column for other, same in figures.cells):
            figures.compared.add((row, column))
            if not sentence.rows and not sentence.from_line:
                # A range belongs to the column, not to a row.
                figures.grades[table.places[row, column]] = 1.0


def _is_label(place: int, tokens: Sequence[str]) -> bool:
    return (
        0 < place < LABEL
        and tokens[place + 1 : place + 2] == [":"]
        and tokens[place].isdigit()
        and len(tokens[place - 1]) > 3
        and tokens[place - 1] not in _KIND_WORDS
    )


def _written(place: int, tokens: Sequence[str]) -> Written | None:
    following = tokens[place + 1 : place + 4]
    after = following[0] if following else ""
    known = _measure(tokens[place], place > 0 and tokens[place - 1] == "r$", after, "reais" in following)
    return Written(place, *known) if known else None


@lru_cache(maxsize=16_384)
def _measure(number: str, reais_before: bool, after: str, reais_after: bool) -> tuple[float, float, str, bool] | None:
    """Return a number's value, the worth of its last significant digit, its unit, and whether it is in thousands."""
    values = numbers_of(number)
    if not values:
        return None
    value = values[0]
    decimals = number.partition(",")[2] or (number.partition(".")[2] if value < 1_000 else "")
    step = 10.0 ** -len(decimals)
    if not decimals and value:
        digits = f"{value:.0f}"
        step = 10.0 ** (len(digits) - len(digits.rstrip("0")))
    scale = _SCALES.get(after, 1.0)
    is_amount = reais_before or after == "reais" or (scale > 1 and reais_after)
    return value * scale, step * scale, "r$" if is_amount else "%" if after in ("%", "por") else "", scale > 1


_SCALES: Final = {"mil": 1_000.0, "milhao": 1e6, "milhoes": 1e6}


def _is_year(each: Written, tokens: Sequence[str]) -> bool:
    token = tokens[each.place]
    return each.unit == "" and not each.scaled and len(token) == 4 and token.isdigit() and 1900 <= each.value < 2100


def _is_term(each: Written, tokens: Sequence[str], advice: int) -> bool:
    """Return whether a number is a goal, a term or a discount in advice, or counts the table's rows or the findings."""
    after = tokens[each.place + 1] if each.place + 1 < len(tokens) else ""
    if each.unit == "" and each.value <= 12 and after in _COUNTED:
        return True
    if each.value == 1 and "em" in tokens[each.place + 1 : each.place + 3]:
        return True
    if each.place < advice:
        return "meta" in tokens[: each.place]
    before = set(tokens[max(0, each.place - 4) : each.place])
    return after in _TERM or not before.isdisjoint(_GOAL) or "desconto" in tokens


def _is_cell(
    each: Written, sentence: AnalysisSentence, table: Table, written: Sequence[Written], figures: Figures
) -> bool:
    said, strict = _column_said(each, sentence, table)
    if strict and said is None:
        return False
    owners = owners_of(each, sentence, table, written)
    named = owners
    group = sentence.row_near(each.place) if len(sentence.rows) > 1 else []
    if len(group) > 1 or (not sentence.rows and not _ALL.isdisjoint(sentence.tokens[: each.place])):
        if _take(each, column_bound(each, named, sentence, table, written), figures):
            return True
        if side_of(each, sentence, written) and set(group).issuperset(named):
            return False  # What is wrong of a group is not right of one of its rows.
    owners, sure = possible_owners(each, owners, sentence, table)
    about = not _ABOUT.isdisjoint(sentence.tokens[max(0, each.place - 4) : each.place])
    for index, row in enumerate(owners):
        column = _column_with(each, row, said, strict, about, sentence, table)
        if column is None:
            continue
        unit = table.columns[column].unit
        certain = said == column or unit == "%" or any(column == other for _, other in sentence.columns)
        grade = (1.0 if certain else UNNAMED_REAIS if unit == "r$" else UNNAMED) * (1.0 if index < sure else ALONE)
        figures.columns[each.place] = column
        figures.rows[each.place] = row
        for other in (row, *sentence.group_of(row, each.place)):
            # `SP e RJ ficam perto de 9%` quotes both.
            if other == row or _is_value(each, table.cells.get((other, column)), about):
                figures.quote((other, column), table.places[other, column], grade)
        return True
    return _take(each, column_bound(each, named, sentence, table, written), figures)


def _is_value(each: Written, value: float | None, about: bool) -> bool:
    return value is not None and (abs(value - each.value) < TINY or rounds(each, value, about))


def _column_with(
    each: Written, row: int, said: int | None, strict: bool, about: bool, sentence: AnalysisSentence, table: Table
) -> int | None:
    """Return the column in which a row has a number, exactly or rounded; None if it has it in none that is meant."""
    for column, known in enumerate(table.columns):
        value = table.cells.get((row, column))
        if value is None or (strict and column != said) or not has_unit(each, known.unit, column == said):
            continue
        if not _is_value(each, value, about):
            continue
        if strict or said in (None, column) or known.unit == "%":
            return column
        if said is not None and (known.unit != table.columns[said].unit or not _mentioned(said, column, sentence)):
            return column
    return None


def _mentioned(said: int, column: int, sentence: AnalysisSentence) -> bool:
    """Return whether a sentence names the column that is said of a number, and not the one that has it."""
    named = {each for _, each in sentence.columns}
    return said in named and column not in named


def _may_be(each: Written, column: int, table: Table) -> bool:
    """Return whether a number has no more decimals than a column without a unit: 4,6 is no count of orders."""
    return each.step >= 1 or table.columns[column].places > 0 or bool(each.unit or table.columns[column].unit)


def _column_said(each: Written, sentence: AnalysisSentence, table: Table) -> tuple[int | None, bool]:
    """Return the column said of a number, and whether it stands right beside it; None and True if no column has it."""
    tokens, place = sentence.tokens, each.place
    clause = sentence.clauses[place]
    end = place + 1
    while end < len(tokens) and tokens[end] in ("%", "mil", "reais", "de", "dos", "em", "por", "cento"):
        end += 1
    if end < len(tokens) and sentence.clauses[end] == clause and tokens[end] in _KIND_WORDS and (end - place < 4):
        word = tokens[end]
        column = table.column_words.get(word)
        if each.unit == "%" and column is not None and table.columns[column].adds_up:
            # `11% dos pedidos atrasaram`: a share of what adds up is of another column.
            return column, False
        if column is not None or word not in _OF_ALL:
            return column, True
    before = [(there, column) for there, column in sentence.columns if there < place]
    start = place - 1
    while start >= 0 and tokens[start] in _UNIT_NEUTRAL:
        start -= 1
    if start >= 0 and tokens[start] in _KIND_WORDS and tokens[start] not in table.column_words:
        return None, True
    if before:
        there, column = before[-1]
        # `pedidos e R$ 57`: what looks like `é` joins another column.
        joined = "e" in tokens[start + 1 : place] and table.columns[column].unit != each.unit
        strict = there == start and not joined
        return column if strict or _may_be(each, column, table) else None, strict
    after = [
        column
        for there, column in sentence.columns
        if there > place
        and sentence.clauses[there] == clause
        and "e" not in tokens[end:there]
        and _may_be(each, column, table)
    ]
    if after:
        return after[0], False
    return sentence.carried_column, False


def _take(each: Written, column: int | None, figures: Figures) -> bool:
    """Take a number as one that follows from several cells of a column, if there is one."""
    if column is None:
        return False
    figures.derived.add(each.value)
    figures.columns[each.place] = column
    return True
