"""Numbers that follow from several cells: differences, sums, shares, ratios, means, and `um em cada` so many."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from tasks.commerce.insights.sentences import AnalysisSentence
from tasks.commerce.insights.speech import word_classes
from tasks.commerce.insights.table import Table

DATA_FILES: Final = ("data/lexicons/figure_words.txt",)
ROUNDING: Final = 0.06
"""Largest relative error of a number rounded without a word that says so."""
LOOSE_ROUNDING: Final = 0.12
"""The same after `cerca de`, `quase` and their kin."""
LEAST_BARE: Final = 99
"""Numbers without a unit up to which reais must be called so."""
COUNTS: Final = {
    word: number
    for number, said in enumerate(
        ("um uma", "dois duas", "tres", "quatro", "cinco", "seis", "sete", "oito", "nove", "dez"), 1
    )
    for word in said.split()
}
"""Numbers in words."""
_WORDS: Final = word_classes("figure_words")
_DIFFERENCE: Final = _WORDS["difference"]
_SUM: Final = _WORDS["sum"]
_SHARE: Final = _WORDS["share"]
_RATIO: Final = frozenset({"razao", "proporcao"})
_MEAN: Final = _WORDS["mean"]


@dataclass(frozen=True, slots=True)
class Written:
    """One number of a sentence."""

    place: int
    value: float
    step: float
    """The worth of its last significant digit."""
    unit: str
    scaled: bool


def has_unit(each: Written, unit: str, is_said: bool) -> bool:
    """Return whether a number may be of a column with a unit, which may be left out where the column is said."""
    return each.unit == unit or (each.unit == "" and (is_said or (unit == "r$" and each.value > LEAST_BARE)))


def rounds(each: Written, value: float, about: bool) -> bool:
    """Return whether a written number is a value rounded as people round."""
    error = abs(value - each.value)
    if error > value * (LOOSE_ROUNDING if about else ROUNDING):
        return False
    return error <= each.step * (1.0 if about else 0.5) + 1e-9


def column_followed(each: Written, sentence: AnalysisSentence, table: Table) -> int | None:
    """Return the column from several cells of which a number follows, as a word of the sentence says; None if none."""
    tokens = set(sentence.tokens)
    after = sentence.tokens[each.place + 1 : each.place + 2]
    compared = _is_compared(each, sentence)
    for said, found in (
        (after == ["vezes"] or not tokens.isdisjoint(_RATIO), _ratios),
        (not tokens.isdisjoint(_SUM), _sums),
        (compared or not tokens.isdisjoint(_DIFFERENCE), _differences),
        (each.unit == "%", _shares),
        (not tokens.isdisjoint(_MEAN), _means),
        (_parts_said(each, sentence), _parts),
        (each.unit == "", _counts_of_shares),
        (True, _totals),
    ):
        if said:
            for value, tolerance, column in found(each, sentence, table):
                if abs(value - each.value) <= tolerance + 1e-9:
                    return column
    return None


def _is_compared(each: Written, sentence: AnalysisSentence) -> bool:
    """Return whether a number says how much more or less there is: `30% a mais que`, but not `30% ou mais`."""
    after = sentence.tokens[each.place + 1 : each.place + 5]
    return "ou" not in after and not _WORDS["compared"].isdisjoint(after)


def _totals(each: Written, sentence: AnalysisSentence, table: Table) -> Iterator[tuple[float, float, int]]:
    """Yield the totals of the columns that add up, of all rows and of those named together, which need no word."""
    groups = [rows for place, _ in sentence.rows if len(rows := sentence.group(place)) > 1]
    for column in _alike(each, table):
        if table.columns[column].adds_up:
            tolerance = 0.5 * 10.0 ** -table.columns[column].places
            yield table.columns[column].total, tolerance, column
            for rows in groups:
                yield sum(table.cells.get((row, column), 0.0) for row in rows), tolerance, column


def _parts_said(each: Written, sentence: AnalysisSentence) -> bool:
    """Return whether a number is the N of `um em cada N`, or of `1 pedido em N`."""
    before = sentence.tokens[max(0, each.place - 3) : each.place]
    return before[-1:] == ["cada"] or (before[-1:] == ["em"] and bool(_ONE.intersection(before[:1])))


_ONE: Final = frozenset({"1", "um", "uma"})


def _parts(each: Written, sentence: AnalysisSentence, table: Table) -> Iterator[tuple[float, float, int]]:  # noqa: ARG001 - as its siblings
    """Yield the N of `um em cada N` by percentages."""
    for (_, column), value in table.cells.items():
        if table.columns[column].unit == "%" and value:
            yield 100 / value, 0.5, column


def _counts_of_shares(each: Written, sentence: AnalysisSentence, table: Table) -> Iterator[tuple[float, float, int]]:  # noqa: ARG001 - as its siblings
    """Yield how many of a row's orders a percentage is: 4 of 19 are 21,1%."""
    for row in dict.fromkeys(row for _, row in sentence.rows):
        for column, known in enumerate(table.columns):
            for other, counted in enumerate(table.columns):
                if known.unit == "%" and counted.adds_up and not counted.unit:
                    share = table.cells.get((row, column), 0.0) / 100
                    yield share * table.cells.get((row, other), 0.0), 0.5, other


def _rows_of(sentence: AnalysisSentence, table: Table) -> list[int]:
    rows = list(dict.fromkeys(row for _, row in sentence.rows))
    if sentence.carried_row is not None and sentence.carried_row not in rows and (sentence.from_line or not rows):
        rows.append(sentence.carried_row)
    return rows or list(range(len(table.names)))


def _alike(each: Written, table: Table) -> Iterator[int]:
    for column, known in enumerate(table.columns):
        if each.unit in (known.unit, ""):
            yield column


def _pairs(sentence: AnalysisSentence, table: Table) -> Iterator[tuple[int, int]]:
    rows = _rows_of(sentence, table)
    both = combinations(rows, 2) if len(rows) > 1 else ((rows[0], other) for other in range(len(table.names)))
    yield from both


def _differences(each: Written, sentence: AnalysisSentence, table: Table) -> Iterator[tuple[float, float, int]]:
    points = bool({"ponto", "pontos"} & set(sentence.tokens))
    for column, known in enumerate(table.columns):
        if each.unit != known.unit and not (points or each.unit == ""):
            continue
        for one, other in _pairs(sentence, table):
            if (one, column) in table.cells and (other, column) in table.cells:
                yield (
                    abs(table.cells[one, column] - table.cells[other, column]),
                    max(each.step, 10.0**-known.places) * 0.5,
                    column,
                )


def _sums(each: Written, sentence: AnalysisSentence, table: Table) -> Iterator[tuple[float, float, int]]:
    groups = [_rows_of(sentence, table), *(sentence.group(place) for place, _ in sentence.rows)]
    if not _WORDS["others"].isdisjoint(sentence.tokens):
        groups.append([row for row in range(len(table.names)) if row not in groups[0]])
    for column in _alike(each, table):
        known = table.columns[column]
        if known.adds_up:
            yield known.total, each.step * 0.5, column
            for rows in groups:
                if len(rows) > 1:
                    yield sum(table.cells.get((row, column), 0.0) for row in rows), each.step * 0.5, column
            for pair in combinations(range(min(len(table.names), 12)), 2):
                if not sentence.rows or {row for _, row in sentence.rows}.issuperset(pair):
                    yield sum(table.cells.get((row, column), 0.0) for row in pair), each.step * 0.5, column


def _shares(each: Written, sentence: AnalysisSentence, table: Table) -> Iterator[tuple[float, float, int]]:
    rows = _rows_of(sentence, table)
    named = {column for _, column in sentence.columns}
    shared = not _SHARE.isdisjoint(sentence.tokens)
    between_months = bool(table.times) and len({row for _, row in sentence.rows}) > 1
    changes = between_months or _is_compared(each, sentence) or not _WORDS["changes"].isdisjoint(sentence.tokens)
    tolerance = max(each.step * 0.5, 0.06)
    if each.unit == "%" and each.value % 5 == 0:
        tolerance = max(tolerance, 2.6)
    for column, known in enumerate(table.columns):
        if shared and known.adds_up and known.total and (not named or column in named):
            for row in rows:
                yield 100 * table.cells.get((row, column), 0.0) / known.total, tolerance, column
            yield 100 * sum(table.cells.get((row, column), 0.0) for row in rows) / known.total, tolerance, column
        for one, other in _pairs(sentence, table) if changes else ():
            for base, final in ((one, other), (other, one)):
                start = table.cells.get((base, column), 0.0)
                if start:
                    yield 100 * abs(table.cells.get((final, column), 0.0) / start - 1), tolerance, column


def _ratios(each: Written, sentence: AnalysisSentence, table: Table) -> Iterator[tuple[float, float, int]]:
    for column in range(len(table.columns)):
        for one, other in _pairs(sentence, table):
            low, high = sorted((table.cells.get((one, column), 0.0), table.cells.get((other, column), 0.0)))
            if low:
                yield high / low, max(each.step * 0.6, 0.06 * each.value), column


def _means(each: Written, sentence: AnalysisSentence, table: Table) -> Iterator[tuple[float, float, int]]:  # noqa: ARG001 - as its siblings
    for column in _alike(each, table):
        yield table.columns[column].mean, max(each.step, 10.0 ** -table.columns[column].places) * 0.5, column
