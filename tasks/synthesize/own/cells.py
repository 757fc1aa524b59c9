"""Cells of a shop's files as values: texts, numbers, moments, and true or false.

No message repeats a cell: in a column that was mapped by mistake it may be a name or a number of a person.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import polars as pl

from schemas.errors import InputError
from schemas.store.files import FIRST_YEAR
from schemas.tables.delimited import Decimals, read_numbers

TRUE: Final = ("true", "1", "sim", "s", "yes")
FALSE: Final = ("false", "0", "não", "nao", "n", "no")
NOTHING: Final = (
    *("na", "n/a", "#n/a", "nd", "n/d", "#n/d", "n.d.", "nan", "nat", "null", "nulo", "vazio", "(vazio)", "sem data"),
    *("não informado", "não se aplica", "não disponível", "0000-00-00", "0000-00-00 00:00:00"),
)
"""Cells that say that they are empty, as runs of dashes do."""
_DASHES: Final = r"^[\p{Pd}\u2212_]+$"
LAST_YEAR: Final = 2200
HERE: Final = "America/Sao_Paulo"
"""Clock of the store: moments with an offset are told by it, as most exports without one are."""
_TIME: Final = r"(?:[T ,]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?)?(?: ?(?i:([ap])\.?m\.?))?"
_OFFSET: Final = r" ?(Z|UTC|GMT|BRT|(?:GMT|UTC)?[+-]\d{1,2}(?::?\d{2})?)?"
_MONTHS: Final = (
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "january february march april may june july august september october november december",
)
_LETTERS: Final = 3  # Letters of a month's name by which it is known, and to which it may be cut.
_MONTH: Final[Mapping[str, str]] = {
    name[:_LETTERS]: str(number) for names in _MONTHS for number, name in enumerate(names.split(), 1)
}
_MONTH_NAMES: Final = "|".join(["marco", *" ".join(_MONTHS).split(), *_MONTH])
_IN_WORDS: Final = (
    r"(?i)^(?:\p{L}+(?:-feira)?,? +)?(\d{1,2})[º°]?(?: +(?:de +)?|[-/])"
    rf"({_MONTH_NAMES})\.?(?:,? +(?:de +)?|[-/])(\d{{4}})"
    r"(?:,?(?: +às?| +as| +-)? +(\d{1,2})(?::|h)(\d{2})(?::(\d{2}))?(?: ?(?:hs?|hrs?|horas)\.?)?)?$"
)
"""Day, month and year with the month's name, as Mercado Livre writes: `3 de janeiro de 2025 09:00 hs.`"""
_YEAR_FIRST: Final = rf"^(\d{{4}})[-/](\d{{1,2}})[-/](\d{{1,2}}){_TIME}{_OFFSET}$"
_YEAR_LAST: Final = rf"^(\d{{1,2}})[-/.](\d{{1,2}})[-/.](\d{{4}}){_TIME}{_OFFSET}$"
DATES: Final = (_YEAR_FIRST, _YEAR_LAST, _IN_WORDS)
"""Patterns of all dates that are read, which may yet be none of the calendar."""

DateOrder = Literal["day-first", "month-first"]


@dataclass(frozen=True)
class ColumnCells:
    """Texts of one column of a file, null where a cell is empty."""

    texts: pl.Series
    place: str
    """The file and column, for messages."""
    header: int
    """Row of the header above the rows, from 1; 0 where the file has lines of JSON instead."""
    are_numbers: bool
    """Whether all of them were numbers in the file and no texts, so that they have a decimal point."""

    def refuse(self, broken: pl.Series, what: str) -> None:
        """Refuse broken cells, where there are some, by the first."""
        if len(rows := broken.arg_true()):
            more = f" (and {len(rows) - 1:,} more)" if len(rows) > 1 else ""
            raise InputError(f"{self.place}: {self.row(rows[0])} is not {what}{more}; correct it, or leave it empty")

    def row(self, number: int) -> str:
        """Return how a row is called in the file."""
        return f"{'row' if self.header else 'line'} {number + 1 + self.header}"

    def translated(self, values: Mapping[str, str]) -> "ColumnCells":
        """Return the cells with our values for the file's, in any case; an empty value of ours is none."""
        ours = {theirs.strip().lower(): value or None for theirs, value in values.items()}
        stripped = self.texts.str.strip_chars().str.to_lowercase()
        known = stripped.is_in([*ours]).fill_null(value=False)
        replaced = stripped.replace_strict(ours, default=None, return_dtype=pl.String)
        return ColumnCells(replaced.zip_with(known, self.texts), self.place, self.header, self.are_numbers)


def without_nothing(texts: pl.Series) -> pl.Series:
    """Return texts without spaces around them, null where one is empty or says so."""
    stripped = texts.str.strip_chars()
    says_so = stripped.str.to_lowercase().is_in(["", *NOTHING]) | stripped.str.contains(_DASHES)
    return stripped.set(says_so.fill_null(value=False), None)


def as_identifiers(cells: ColumnCells) -> pl.Series:
    """Return identifiers without spaces around them; of numbers, 7.0 is the whole number."""
    some = without_nothing(cells.texts)
    return some.str.replace(r"^(\d+)\.0$", "${1}") if cells.are_numbers else some


def as_numbers(cells: ColumnCells, decimals: Decimals | None) -> pl.Series:
    """Return numbers; texts as Brazilians or programs write them, all of a column in one way."""
    texts = as_identifiers(cells)
    if not cells.are_numbers:
        return read_numbers(texts, cells.place, decimals, cells.row)
    numbers = texts.cast(pl.Float64, strict=False)
    broken = texts.is_not_null() & ~numbers.is_finite().fill_null(value=False)
    cells.refuse(broken, "a number")
    return numbers


def as_whole_numbers(cells: ColumnCells, decimals: Decimals | None) -> pl.Series:
    """Return whole numbers."""
    numbers = as_numbers(cells, decimals)
    broken = ((numbers != numbers.round()) | (numbers.abs() > 2**53)).fill_null(value=False)
    cells.refuse(broken, "a whole number")
    return numbers.cast(pl.Int64)


def as_flags(cells: ColumnCells) -> pl.Series:
    """Return true or false."""
    texts = as_identifiers(cells).str.to_lowercase()
    read = {**dict.fromkeys(TRUE, True), **dict.fromkeys(FALSE, False)}
    flags = texts.replace_strict(read, default=None, return_dtype=pl.Boolean)
    broken = texts.is_not_null() & flags.is_null()
    cells.refuse(broken, "true or false")
    return flags


def date_order(columns: Iterable[ColumnCells], given: DateOrder | None) -> DateOrder:
    """Return the order of days and months in all dates of a table."""
    shown: dict[str, str] = {}
    for cells in columns:
        parts = cells.texts.str.strip_chars().str.extract_groups(_YEAR_LAST).struct.unnest()
        first, second = (parts[name].cast(pl.Int64) for name in ("1", "2"))
        for order, found in (("day-first", first > 12), ("month-first", second > 12), ("either", first != second)):
            rows = found.fill_null(value=False).arg_true()
            if len(rows):
                shown.setdefault(order, f"{cells.place}: {cells.row(rows[0])}")
    undecided = shown.pop("either", None)
    if given is not None:
        other = "month-first" if given == "day-first" else "day-first"
        if other in shown:
            raise InputError(
                f"{shown[other]} has the {other.removesuffix('-first')} first, and the column map says dates = "
                f'"{given}"; correct one of them'
            )
        return given
    if len(shown) > 1:
        raise InputError(
            f"{shown['month-first']} has the month first, and {shown['day-first']} the day; write all dates in one way"
        )
    if not shown and undecided is not None:
        raise InputError(
            f'{undecided} is one of two dates, and no row tells which; say dates = "day-first" or "month-first" in '
            "the column map"
        )
    return "month-first" if "month-first" in shown else "day-first"


def as_moments(cells: ColumnCells, order: DateOrder) -> pl.Series:
    """Return moments by the clock of the store, to the second; a date alone is its midnight."""
    texts = as_identifiers(cells)
    parts = texts.str.extract_groups(_YEAR_FIRST).struct.unnest()
    day, month = ("1", "2") if order != "month-first" else ("2", "1")
    other = texts.str.extract_groups(_YEAR_LAST).struct.unnest()
    words = texts.str.extract_groups(_IN_WORDS).struct.unnest()
    letters = words["2"].str.to_lowercase().str.head(_LETTERS)
    named = letters.replace_strict(_MONTH, default=None, return_dtype=pl.String)
    table = pl.DataFrame(
        {
            "year": parts["1"].fill_null(other["3"]).fill_null(words["3"]),
            "month": parts["2"].fill_null(other[month]).fill_null(named),
            "day": parts["3"].fill_null(other[day]).fill_null(words["1"]),
            **{
                name: parts[group].fill_null(other[group]).fill_null(words[group])
                for name, group in (("hour", "4"), ("minute", "5"), ("second", "6"))
            },
            "half": parts["7"].fill_null(other["7"]).str.to_lowercase(),
            "offset": parts["8"].fill_null(other["8"]),
        }
    )
    # 12 AM is midnight, and 12 PM noon.
    hours = pl.col("hour").cast(pl.Int64) % 12 + pl.when(pl.col("half") == "p").then(12).otherwise(0)
    hour = pl.when(pl.col("half").is_null()).then("hour").otherwise(hours.cast(pl.String))
    table = table.with_columns(hour.alias("hour"))
    written = pl.format(
        "{}-{}-{} {}:{}:{}",
        "year",
        *(pl.col(name).str.zfill(2) for name in ("month", "day")),
        *(pl.col(name).fill_null("0").str.zfill(2) for name in ("hour", "minute", "second")),
    )
    naive = table.select(written.str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False)).to_series()
    moments = _here(naive, table["offset"])
    broken = texts.is_not_null() & ~moments.dt.year().is_between(FIRST_YEAR, LAST_YEAR).fill_null(value=False)
    cells.refuse(broken, "a date such as 2024-01-31 23:59:59, 31/01/2024 23:59 or 31 de janeiro de 2024 23:59")
    return moments


def _here(naive: pl.Series, offsets: pl.Series) -> pl.Series:
    """Return moments by the store's clock: those with an offset moved to it, the others as they are."""
    if not offsets.is_not_null().any():
        return naive
    parts = offsets.str.replace("BRT", "-03").str.extract_groups(r"([+-])(\d{1,2}):?(\d{2})?$").struct.unnest()
    hours, minutes = (parts[group].cast(pl.Int64).fill_null(0) for group in ("2", "3"))
    signed = (hours * 60 + minutes) * (1 - 2 * (parts["1"] == "-").fill_null(value=False).cast(pl.Int64))
    moved = pl.DataFrame({"naive": naive, "minutes": signed}).select(
        (pl.col("naive") - pl.duration(minutes=pl.col("minutes")))
        .dt.replace_time_zone("UTC")
        .dt.convert_time_zone(HERE)
        .dt.replace_time_zone(None)
    )
    return moved.to_series().zip_with(offsets.is_not_null(), naive)
