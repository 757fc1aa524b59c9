"""Table of a prompt, the facts that are true of each cell, and how surprising each cell is.

Facts are lookups of the figures as they are printed: what a reader of the table can see is what is true. Each is what
its sentence says to that reader:

- `maior`, `menor`, `melhor`, `pior` are strict. Of two equal leaders neither is "a maior".
- `acima` and `abaixo` compare with the median. The mean of a column of rates is not the store's rate, and a reader
  would take it for that. The median is the printed one, since the sentence prints it, and a difference within 3 % of
  it is rounding. Of two rows there is no middle.
- `razao` begins at twice: below, people say per cents, and take "1,5 vezes" for 150 % more. It names the other row.
- `subiu` and `caiu` compare with the calendar month before, by more than 3 %: "em março" means since February.

A comparison needs a column whose cells are all read: beside "R$ -" nothing is the highest. A cell is read that is
printed in its column's unit, with as many decimals as most of the others. A mean or a rate of a row whose orders cannot
be counted says nothing, and one of many orders is compared with no row but those of few: of what it says the sample
note would be missing.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from tasks.commerce.insights.phrases import (
    OTHER,
    figure_columns,
    frames,
    is_rest,
    is_retail,
    is_sum,
    kind_of,
    month_of,
    plain_name,
)
from tasks.commerce.regulated import law_on

Cell = tuple[str, str]
NOTABLE, HAIR = 0.03, 5e-10
"""Share of the compared figure from which a difference counts, and what a binary figure may be off."""
RATIO, MOST_TIMES = 2.0, 99.0
"""Ratios that are told: a larger one is no news, or a slip."""
SMALL_SAMPLE, DOUBTED = 30, 10
"""Orders below which a row's means and rates may be chance, and at which half of a mean's surprise is believed."""
LEAST_PARTS: Final = 3
"""Rows that an unnamed row must be the sum of at least to be no row of its own."""
MAX_ROWS: Final = 31
"""A row for each state, or for each day of a month."""
KEPT_TABLES: Final = 256
_LATIN: Final = "A-Za-zÀ-ÖØ-öø-ſ0-9"
_NAME: Final = re.compile(
    r"(?!.*(?://|\.\w|\w\w\. +[A-ZÀ-Þ]|\d(?:[ ().,/-]*\d){7}))"
    rf"[{_LATIN}](?:[{_LATIN}ªº%_ ,.&+/()'-]{{0,38}}[{_LATIN}ªº%)])?"
)
"""Names of rows: Latin letters and plain signs, no sentences, and nothing that a program would make a link of."""
_WHOLE: Final = r"[1-9]\d{0,2}(?:\.\d{3}){1,3}|0|[1-9]\d{0,11}"
_UNITS: Final = {
    "R$": re.compile(rf"R\$ ?((?:{_WHOLE})(?:,\d\d?)?)", re.ASCII),
    "%": re.compile(r"(100(?:,0+)?|\d\d?(?:,\d{1,4})?)%", re.ASCII),
    "unidades": re.compile(rf"({_WHOLE})", re.ASCII),
    "nota": re.compile(r"([0-4](?:,\d{1,4})?|5(?:,0+)?)", re.ASCII),
}
_MONTH: Final = "(?:jan|fev|mar|abr|mai|jun|jul|ago|set|out|nov|dez)/(?:19|20)[0-9]{2}"
_PERIOD: Final = re.compile(f"^Período: ({_MONTH}) a ({_MONTH})$", re.MULTILINE)


@dataclass(frozen=True, eq=False)
class FigureTable:
    """A table as it is printed, and what is known of it."""

    kind: str
    """What its rows are, in small letters, such as `estado`."""
    rows: tuple[str, ...]
    """Those that have findings."""
    compared: tuple[str, ...]
    """These, and what they leave, such as `Outros`."""
    columns: Mapping[str, Any]
    """Those that the phrases know, by their titles."""
    texts: Mapping[Cell, str]
    figures: Mapping[Cell, float]
    """Of the cells that hold a figure."""
    places: Mapping[str, int]
    medians: Mapping[str, float]
    """Of the columns that can be compared, rounded as their cells are."""
    before: Mapping[str, str]
    """The row of the calendar month before a row's, where the table has it."""
    orders: str
    few: frozenset[str]
    """The rows behind which few orders stand, as far as the table counts them."""
    uncounted: frozenset[str]
    """The rows whose orders cannot be read in a table that counts them."""
    period: tuple[str, str] | None
    worst: set[str]
    """The rows than which no other is worse in a column that is judged, or that are bad in one by its floors."""
    unknown: set[str]
    """The rows whose names no list has, such as a state that is none."""
    doubted: int
    """How many rows are compared whose name is that of a sum or a mean."""
    regulated: set[str]
    """The rows of which a law forbids or restricts the promotion, and categories that are no ordinary retail's."""
    facts: dict[Cell, frozenset[str]]
    salience: dict[Cell, float]
    """How surprising each cell with a figure is, in [0, 1)."""

    def is_unsure(self, row: str) -> bool:
        """Return whether few or uncounted orders stand behind a row."""
        return row in self.few or row in self.uncounted

    def column(self, title: str) -> dict[str, float]:
        """Return the figures of a column that can be compared, by row."""
        return {row: self.figures[row, title] for row in self.compared}

    def times(self, row: str, other: str, title: str) -> bool:
        """Return whether a row has twice the other's figure, however both were rounded, neither by few orders."""
        known = self.columns[title]
        if row == other or self.is_unsure(row) or self.is_unsure(other) or not known.vezes or title not in self.medians:
            return False
        own, its = self.figures[row, title], self.figures[other, title]
        half = 0.0 if known.unidade == "unidades" else 0.5 * 10.0 ** -self.places[title]
        return its > 0 and own <= MOST_TIMES * its and own - half >= round(RATIO * (its + half), 9)

    def gap(self, row: str, title: str, other: str | None = None) -> float:
        """Return the distance of a cell from the median, or from another row, in steps that are worth a word."""
        if title not in self.medians:
            return 0.0
        base = self.medians[title] if other is None else self.figures[other, title]
        known = self.columns[title]
        step = known.passo * abs(base) if known.relativo else known.passo
        # Rounded, since 4,1 and 4,0 are a binary hair less than a step of 0,1 apart.
        return round((self.figures[row, title] - base) / (step or 1.0), 9)


@lru_cache(maxsize=KEPT_TABLES)
def read_table(prompt: str) -> FigureTable | None:
    """Read the table of a prompt, whose cells ` | ` separates; None where it has none that findings can be made of.

    That is: one block of lines of one width below one header, distinct row names of letters and plain signs, and a
    known column with a figure. SP and São Paulo are one name, and so are Receita and receita.
    """
    lines = prompt.splitlines()
    places = [place for place, line in enumerate(lines) if " | " in line]
    block = [lines[place].split(" | ") for place in places]
    if len(block) < 2 or places[-1] - places[0] >= len(block) or len({len(line) for line in block}) > 1:
        return None
    (head, *titles), *body = block
    kind, known = head.lower(), figure_columns()
    columns = {title: known[title.lower()] for title in titles if title.lower() in known}
    names = [[plain_name(line[0]) for line in body], [title.lower() for title in titles]]
    if not columns or len(body) > MAX_ROWS or head.startswith("Período:"):
        return None
    is_repeated = any(len(set(each)) < len(each) for each in names)
    if is_repeated or any(cell.lower() in known for _, *cells in body for cell in cells):
        return None
    pairs = ((row, title, cell) for row, *cells in body for title, cell in zip(titles, cells, strict=True))
    texts = {(row, title): cell for row, title, cell in pairs if title in columns}
    figures: dict[Cell, float] = {}
    decimals = {
        title: _read_column(title, [line[0] for line in body], texts, columns[title].unidade, figures)
        for title in columns
    }
    read = {row for row, _ in figures}
    if any(line[0] not in read and _is_head(kind, line[0]) for line in body):
        return None
    named = {line[0] for line in body if is_sum(kind, line[0])}
    parts = [line[0] for line in body if line[0] not in named]
    compared = tuple(
        line[0] for line in body if line[0] not in named or not _sums(line[0], parts, columns, figures, decimals)
    )
    rows = tuple(
        row
        for row in parts
        if not is_rest(row)
        and not (
            len(parts) > LEAST_PARTS
            and _sums(row, [each for each in parts if each != row], columns, figures, decimals) > 1
        )
    )
    if not rows or not all(map(_is_name, rows)):
        return None
    whole = [title for title in columns if all((row, title) in figures for row in compared)]
    orders = next((title for title, column in columns.items() if column.como == "pedidos"), "")
    uncounted = frozenset(row for row in compared if orders and not figures.get((row, orders)))
    periods = _PERIOD.findall(prompt)
    table = FigureTable(
        kind,
        rows,
        compared,
        columns,
        texts,
        figures,
        decimals,
        {title: round(_middle(sorted(figures[row, title] for row in compared)), decimals[title]) for title in whole},
        _months_before(rows) if kind == "mês" else {},
        orders,
        frozenset(row for row in compared if figures.get((row, orders), SMALL_SAMPLE) < SMALL_SAMPLE),
        uncounted,
        periods[0] if len(periods) == 1 else None,
        worst={row for title in columns for row in _worst(title, columns[title].melhor, compared, figures)},
        unknown={row for row in rows if kind_of(kind, row) == OTHER},
        doubted=sum(row in named for row in compared),
        regulated={row for row in rows if law_on(row) or (kind == "categoria" and not is_retail(row))},
        facts={
            (row, title): frozenset(("valor",))
            for row, title in figures
            if row in rows and not (columns[title].media and row in uncounted)
        },
        salience={cell: 0.0 for cell in figures if cell[0] in rows},
    )
    table.worst.update(row for title in columns for row in rows if _is_bad(table, title, row))
    for title in whole:
        own = table.column(title)
        ordered = sorted(own.values())
        for row in rows:
            if (row, title) in table.facts:
                table.facts[row, title] = frozenset(_facts(table, title, row, own, ordered))
        table.salience.update(_salience(table, title, own))
    return table if table.facts else None


def _is_head(kind: str, row: str) -> bool:
    """Return whether a row without a figure begins another table."""
    return row.lower() == kind or (row.lower() in frames().linhas and row.lower() != OTHER)


def _sums(
    row: str,
    others: Sequence[str],
    columns: Mapping[str, Any],
    figures: Mapping[Cell, float],
    decimals: Mapping[str, int],
) -> int:
    """Return in how many columns a row is the others' sum, as rounded; 0 if in one it is not, or is an end of means.

    A name alone makes no sum: `Total` is a brand too, and `Geral` a category.
    """
    found = 0
    for title, column in columns.items():
        own, parts = figures.get((row, title)), [figures[each, title] for each in others if (each, title) in figures]
        if own is None or not parts:
            continue
        if not column.soma:
            if not min(parts) <= own <= max(parts):
                return 0
            continue
        half = 0.0 if column.unidade == "unidades" else 0.5 * 10.0 ** -decimals[title]
        if len(parts) < len(others) or abs(own - sum(parts)) > half * (len(parts) + 1) + HAIR:
            return 0
        found += 1
    return found


def _is_bad(table: FigureTable, title: str, row: str) -> bool:
    """Return whether a row's judged figure is beyond the median and the floor of its column, or plainly bad."""
    column, own = table.columns[title], table.figures.get((row, title))
    if own is None or column.ruim is None:
        return False
    if column.melhor == "alto":
        return own <= column.ruim or (own < column.age_acima and table.gap(row, title) <= -1)
    return own >= column.ruim or (own > column.age_acima and table.gap(row, title) >= 1)


def _is_name(row: str) -> bool:
    law = law_on(row)
    return _NAME.fullmatch(row) is not None and not (law and law[1].recusa)


def _worst(title: str, better: str | None, rows: Sequence[str], figures: Mapping[Cell, float]) -> list[str]:
    known = {row: figures[row, title] for row in rows if (row, title) in figures}
    if better is None or len({*known.values()}) < 2:
        return []
    end = (min if better == "alto" else max)(known.values())
    return [row for row, own in known.items() if own == end]


def _read_column(
    title: str, rows: Sequence[str], texts: Mapping[Cell, str], unit: str, figures: dict[Cell, float]
) -> int:
    """Add the figures of a column's cells, and return the decimals that they have."""
    read = {row: match[1].replace(".", "") for row in rows if (match := _UNITS[unit].fullmatch(texts[row, title]))}
    decimals = {row: len(number.partition(",")[2]) for row, number in read.items()}
    of_each = list(decimals.values())
    usual = max(of_each, key=of_each.count, default=0)
    figures |= {(row, title): float(read[row].replace(",", ".")) for row in read if decimals[row] == usual}
    return usual


def _middle(ordered: Sequence[float]) -> float:
    """Return the median of sorted values; that of `statistics` takes several times as long for four."""
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _months_before(rows: Sequence[str]) -> dict[str, str]:
    places = {place: row for row in rows if (place := month_of(row)) is not None}
    return {row: places[place - 1] for place, row in places.items() if place - 1 in places}


def _facts(table: FigureTable, title: str, row: str, figures: Mapping[str, float], ordered: list[float]) -> list[str]:
    """Return what is true of a cell, by the figures of its column, which can be compared and come sorted too."""
    column, middle = table.columns[title], table.medians[title]
    own, true = figures[row], ["valor"]
    # Beside rows of few orders alone, a rate of many orders would be told without a note.
    noted = not column.media or row in table.few
    if len(ordered) - table.doubted > 1 and (noted or sum(not table.is_unsure(each) for each in figures) > 1):
        end = (
            ("maior", "alto")
            if own == ordered[-1] > ordered[-2]
            else ("menor", "baixo")
            if own == ordered[0] < ordered[1]
            else None
        )
        if end:
            true += end[:1] if column.melhor is None else (end[0], "melhor" if column.melhor == end[1] else "pior")
        # Beside a mean that may be a row of its own, nobody knows which rows have the median.
        if len(ordered) > 2 and not table.doubted and _exceeds(own - middle, middle):
            true.append("acima" if own > middle else "abaixo")
    if column.vezes and own >= RATIO * ordered[0] and any(table.times(row, other, title) for other in table.rows):
        true.append("razao")
    before = table.before.get(row)
    if before and (noted or not table.is_unsure(before)) and _exceeds(own - figures[before], figures[before]):
        true.append("subiu" if own > figures[before] else "caiu")
    return true


def _exceeds(difference: float, base: float) -> bool:
    # A hair is left, since 10,3 and 10,0 are a binary one more than 3 % apart.
    return abs(difference) - NOTABLE * abs(base) > HAIR


def _salience(table: FigureTable, title: str, figures: Mapping[str, float]) -> dict[Cell, float]:
    """Return the surprise of a column's cells: the distance from the others' median in robust units.

    A mean or a rate over few orders is believed less. Sums are compared by logarithms, else the largest row is all that
    surprises. It is cubed in the end, so that three middling cells do not pay as one that stands out.
    """
    column = table.columns[title]
    step = column.passo
    if column.soma:
        figures = {row: math.log(max(own, 1.0)) for row, own in figures.items()}
    elif column.relativo:
        step *= abs(table.medians[title])
    ordered = sorted(figures.values())
    if len(ordered) < 2:
        return {}
    found = {}
    for row in table.rows:
        own, others = figures[row], ordered.copy()
        others.remove(own)
        middle = _middle(others)
        spread = _middle(sorted([abs(other - middle) for other in others]))
        distance = abs(own - middle) / (spread + (step or 1.0))
        count = table.figures.get((row, table.orders))
        if column.media and count is not None:
            distance *= count / (count + DOUBTED)
        found[row, title] = (distance / (1 + distance)) ** 3
    return found
