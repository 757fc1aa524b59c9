"""Table of a prompt, the facts that are true of each cell, and how surprising each cell is.

Facts are lookups of the figures as they are printed: what a reader of the table can see is what is true. Each is what
its sentence says to that reader:

- `maior`, `menor`, `melhor`, `pior` are strict. Of two equal leaders neither is "a maior".
- `acima` and `abaixo` compare with the median. The mean of a column of rates is not the store's rate, and a reader
  would take it for that. The median is the printed one, since the sentence prints it, and a difference within 3 % of
  it is rounding. Of two rows there is no middle.
- `razao` begins at twice: below, people say per cents, and take "1,5 vezes" for 150 % more. It names the other row.
- `subiu` and `caiu` compare with the calendar month before, by more than 3 %: "em março" means since February.

A comparison needs a column whose cells are all read, in one unit: beside "R$ -" nothing is the highest.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tasks.commerce.evidence.phrases import FigureColumn, read_phrases

Cell = tuple[str, str]
"""A row and a column, as they are printed."""
NOTABLE: Final = 0.03
"""Share of the compared figure from which a difference counts."""
RATIO: Final = 2.0
SMALL_SAMPLE: Final = 30
"""Orders below which a row's means and rates may be chance."""
DOUBTED: Final = 10
"""Orders at which half of a mean's surprise is believed."""
MAX_ROWS: Final = 20
KEPT_TABLES: Final = 256
_NAME: Final = re.compile(r"(?!.*(?://|\.\w))[^\W_][\w ,.&+/()'-]{0,59}")
"""Names of rows: letters and plain signs, and nothing that a program would make a link of."""
_FIGURE: Final = re.compile(r"(R\$ ?)?(-?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?)(%?)", re.ASCII)
_PERIOD: Final = re.compile(r"^Período: ([a-z]{3}/\d{4}) a ([a-z]{3}/\d{4})$", re.MULTILINE)


@dataclass(frozen=True, eq=False)
class FigureTable:
    """A table as it is printed, and what is known of it."""

    kind: str
    """What its rows are, in small letters, such as `estado`."""
    rows: tuple[str, ...]
    columns: Mapping[str, FigureColumn]
    """Those that the phrases know, by their titles."""
    texts: Mapping[Cell, str]
    figures: Mapping[Cell, float]
    """Of the cells that hold a figure."""
    medians: Mapping[str, float]
    """Of the columns that can be compared, rounded as their cells are."""
    before: Mapping[str, str]
    """The row of the calendar month before a row's, where the table has it."""
    few: frozenset[str]
    """The rows behind which few orders stand, as far as the table counts them."""
    facts: Mapping[Cell, frozenset[str]]
    """All that is true of each cell."""
    salience: Mapping[Cell, float]
    """How surprising each cell with a figure is, in [0, 1): see `_salience`."""
    period: tuple[str, str] | None

    def times(self, row: str, other: str, column: str) -> bool:
        """Return whether a row has at least twice the other's figure, neither by few orders."""
        if row == other or {row, other} & self.few or not self.columns[column].vezes or column not in self.medians:
            return False
        return self.figures[row, column] >= RATIO * self.figures[other, column] > 0

    def gap(self, row: str, column: str, other: str | None = None) -> float:
        """Return the distance of a cell from the median, or from another row, in steps that are worth a word."""
        if column not in self.medians:
            return 0.0
        base = self.medians[column] if other is None else self.figures[other, column]
        known = self.columns[column]
        step = known.passo * abs(base) if known.relativo else known.passo
        return (self.figures[row, column] - base) / (step or 1.0)


@lru_cache(maxsize=KEPT_TABLES)
def read_table(prompt: str) -> FigureTable | None:
    """Read the table of a prompt, whose cells ` | ` separates; None where it has none that findings can be made of.

    That is: two lines of one width, distinct row names of letters and plain signs, and a column that is known.
    """
    lines = [line.split(" | ") for line in prompt.splitlines() if " | " in line]
    phrases = read_phrases()
    if len(lines) < 2 or len({len(line) for line in lines}) > 1:
        return None
    (kind, *titles), *body = lines
    body = [line for line in body if line[0].lower() not in phrases.somas]
    rows = tuple(line[0] for line in body)
    columns = {title: phrases.colunas[title.lower()] for title in titles if title.lower() in phrases.colunas}
    if not columns or not 0 < len(rows) <= MAX_ROWS or len(set(rows)) < len(rows) or len(set(titles)) < len(titles):
        return None
    if not all(map(_NAME.fullmatch, rows)):
        return None
    texts = {
        (row, title): cell
        for row, *cells in body
        for title, cell in zip(titles, cells, strict=True)
        if title in columns
    }
    read = {cell: match for cell, text in texts.items() if (match := _FIGURE.fullmatch(text))}
    figures = {cell: float(match[2].replace(".", "").replace(",", ".")) for cell, match in read.items()}
    units = {title: {read[row, title].group(1, 3) for row in rows if (row, title) in read} for title in columns}
    whole = [title for title in columns if len(units[title]) == 1 and all((row, title) in figures for row in rows)]
    medians = {title: _rounded(_middle([figures[row, title] for row in rows]), texts, title, rows) for title in whole}
    orders = next((title for title in whole if title.lower() == "pedidos"), "")
    few = frozenset(row for row in rows if orders and figures[row, orders] < SMALL_SAMPLE)
    found = _PERIOD.search(prompt)
    table = FigureTable(
        kind.lower(),
        rows,
        columns,
        texts,
        figures,
        medians,
        _months_before(rows, phrases.meses) if kind.lower() == "mês" else {},
        few,
        facts := {cell: frozenset(("valor",)) for cell in figures},
        salience := dict.fromkeys(figures, 0.0),
        (found[1], found[2]) if found else None,
    )
    for title in whole:
        facts.update(_facts(table, title))
        salience.update(_salience(table, title, orders))
    return table


def _middle(values: Sequence[float]) -> float:
    """Return the median; that of `statistics` takes several times as long for four values."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _rounded(middle: float, texts: Mapping[Cell, str], title: str, rows: Sequence[str]) -> float:
    return round(middle, max(len(texts[row, title].rstrip("%").partition(",")[2]) for row in rows))


def _months_before(rows: Sequence[str], months: Sequence[str]) -> dict[str, str]:
    named = [(row, *row.partition("/")) for row in rows]
    places = {
        12 * int(year) + months.index(month): row
        for row, month, _, year in named
        if month in months and re.fullmatch("[0-9]{4}", year)
    }
    return {row: places[place - 1] for place, row in places.items() if place - 1 in places}


def _facts(table: FigureTable, title: str) -> dict[Cell, frozenset[str]]:
    figures = {row: table.figures[row, title] for row in table.rows}
    column, middle = table.columns[title], table.medians[title]
    ordered = sorted(figures.values())
    several = len(ordered) > 1
    facts = {}
    for row, own in figures.items():
        true = ["valor"]
        if several and own == ordered[-1] > ordered[-2]:
            true += ["maior"] if column.melhor is None else ["maior", "melhor" if column.melhor == "alto" else "pior"]
        if several and own == ordered[0] < ordered[1]:
            true += ["menor"] if column.melhor is None else ["menor", "melhor" if column.melhor == "baixo" else "pior"]
        if len(ordered) > 2 and _exceeds(own - middle, middle):
            true.append("acima" if own > middle else "abaixo")
        if column.vezes and own >= RATIO * ordered[0] and any(table.times(row, other, title) for other in figures):
            true.append("razao")
        if (before := figures.get(table.before.get(row, ""))) is not None and _exceeds(own - before, before):
            true.append("subiu" if own > before else "caiu")
        facts[row, title] = frozenset(true)
    return facts


def _exceeds(difference: float, base: float) -> bool:
    # Rounded, since 10,3 and 10,0 are a binary hair more than 3 % apart.
    return round(abs(difference) - NOTABLE * abs(base), 9) > 0


def _salience(table: FigureTable, title: str, orders: str) -> dict[Cell, float]:
    """Return the surprise of a column's cells: the distance from the others' median in robust units.

    A mean or a rate over few orders is believed less. Sums are compared by logarithms, else the largest row is all that
    surprises. It is cubed in the end, so that three middling cells do not pay as one that stands out.
    """
    column = table.columns[title]
    figures = {row: table.figures[row, title] for row in table.rows}
    if column.soma:
        figures = {row: math.log(max(own, 1.0)) for row, own in figures.items()}
    step = column.passo
    if column.relativo and not column.soma:
        step *= abs(table.medians[title])
    found = {}
    for row, own in figures.items():
        others = [figure for other, figure in figures.items() if other != row]
        if not others:
            return {}
        middle = _middle(others)
        spread = _middle([abs(other - middle) for other in others])
        distance = abs(own - middle) / (spread + (step or 1.0))
        if column.media and orders:
            count = table.figures[row, orders]
            distance *= count / (count + DOUBTED)
        found[row, title] = (distance / (1 + distance)) ** 3
    return found
