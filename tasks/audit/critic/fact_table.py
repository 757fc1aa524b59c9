"""The table of an insights prompt, read again from the prompt's text alone."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tasks.audit.critic.alteration import Case
from tasks.audit.critic.wordings import Slots, capital, read_wordings
from tasks.commerce.text.months import MONTHS
from tasks.commerce.text.portuguese_numbers import decimal, numbers_in

_WORDS: Final[Mapping[str, Any]] = read_wordings("insights")
ADDITIVE: Final = ("Receita", "Pedidos")
"""Columns whose sum over rows says something."""
LOWEST_FIRST: Final = ("Nota média",)
"""Columns whose lowest value is the one to act on."""


@dataclass(frozen=True)
class CriticColumn:
    """One column of numbers, as written."""

    title: str
    cells: Mapping[str, str]
    """By row."""

    @property
    def values(self) -> dict[str, float]:
        """Return the numbers by row."""
        return {row: numbers_in(cell)[0] for row, cell in self.cells.items()}

    def ranked(self) -> list[str]:
        """Return the rows, the highest first; empty where two of them tie for an end."""
        values = self.values
        rows = sorted(values, key=lambda row: -values[row])
        tied = values[rows[0]] == values[rows[1]] or values[rows[-1]] == values[rows[-2]]
        return [] if tied else rows

    def amount(self, row: str, cell: str | None = None) -> str:
        """Return a cell with its noun, as a fact of the table says it."""
        form: str = _WORDS["measures"][self.title]["amount"]
        return form.format(cell or self.cells[row])


def read_columns(case: Case) -> tuple[str, list[CriticColumn]]:
    """Return what the rows are and the columns; none where the prompt has no table."""
    lines = [line.split(" | ") for line in case.prompt.split("\n") if " | " in line]
    if len(lines) < 3 or any(len(line) != len(lines[0]) for line in lines):
        return "", []
    titles, rows = lines[0], lines[1:]
    return titles[0], [
        CriticColumn(title, {row[0]: row[place] for row in rows}) for place, title in enumerate(titles[1:], 1)
    ]


def in_row(row: str) -> str:
    """Return a row with its preposition: `no RJ`, `na segunda-feira`, `em SP`, `na categoria papelaria`."""
    known: str | None = _WORDS["in_row"].get(row)
    if known:
        return known
    named = len(row) == 2 or "/" in row
    form: str = _WORDS["plain_row" if named else "category"]
    return form.format(row)


def rounded(cell: str) -> str | None:
    """Return a number as people round it; None where they would say it in full."""
    value = numbers_in(cell)[0]
    form: str = _WORDS["thousands" if value >= 10_000 else "about"]
    if value >= 10_000:
        return form.format(_like(cell, value / 1000))
    if "%" in cell and value >= 5:
        return form.format(f"{decimal(value, 0)}%")
    return form.format(_like(cell, 10 * round(value / 10))) if "R$" in cell and 100 <= value < 1000 else None


def column_slots(column: CriticColumn, generator: random.Random) -> Slots | None:
    """Return what a wording can say of one column; None where its ends tie."""
    rows = column.ranked()
    if not rows:
        return None
    top, low, values = rows[0], rows[-1], column.values
    row, other = (low, top) if column.title in LOWEST_FIRST else (top, low)
    measure, months = _WORDS["measures"][column.title], _in_order(column.cells)
    known = {
        "title": measure["noun"],
        "renamed": measure["renamed"].format(column.cells[row]),
        "wrong_title": measure["wrong"],
        "row": row,
        "Row": capital(row),
        "in_row": in_row(row),
        "In_row": capital(in_row(row)),
        "amount": column.amount(row),
        "Amount": capital(column.amount(row)),
        "other_amount": column.amount(other),
        "other": other,
        "top": top,
        "Top": capital(top),
        "low": low,
        "Low": capital(low),
        "top_cell": column.cells[top],
        "low_cell": column.cells[low],
        # Nobody can act in a month that is over.
        "action": generator.choice(measure["actions"]).format(in_row="" if months else in_row(row)).strip(),
        "series": _series(column),
    }
    known["Action"] = capital(known["action"])
    if months:
        earliest, latest = months[0], months[-1]
        known |= {"earliest": earliest, "earliest_cell": column.cells[earliest]}
        known |= {"latest": latest, "latest_cell": column.cells[latest]}
    near = rounded(column.cells[row])
    if near:
        known["rounded"] = column.amount(row, near)
    if values[low] > 0 and values[top] / values[low] >= 1.2:
        known["times"] = decimal(values[top] / values[low], 1)
    if "%" in column.cells[row]:
        known["per_cent"] = column.amount(row).replace("%", _WORDS["per_cent"])
        known["points"] = decimal(values[top] - values[low], 1)
    if column.title in ADDITIVE:
        both = values[top] + values[rows[1]]
        known |= {"second": rows[1], "sum": column.amount(top, _like(column.cells[top], both))}
    return known


def _in_order(rows: Iterable[str]) -> list[str]:
    """Return rows that are months in their order; none where they are no months."""
    dates = {row: row.partition("/")[::2] for row in rows}
    if any(month not in MONTHS for month, _ in dates.values()):
        return []
    return sorted(dates, key=lambda row: (dates[row][1], MONTHS.index(dates[row][0])))


def _like(cell: str, value: float) -> str:
    return f"{'R$ ' if 'R$' in cell else ''}{decimal(value, 0)}"


def _series(column: CriticColumn) -> str:
    said = [f"{row} ({cell})" for row, cell in column.cells.items()]
    return f"{', '.join(said[:-1])}{_WORDS['between']}{said[-1]}"


def distinct(columns: Sequence[CriticColumn]) -> list[CriticColumn]:
    """Return the columns whose ends do not tie."""
    return [column for column in columns if column.ranked()]
