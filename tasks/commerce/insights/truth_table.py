"""Table behind an analysis, and what its sentences name of it, for the ground truth of insights."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import islice
from operator import attrgetter
from typing import Final, NamedTuple

from tasks.commerce.truth_text import MAX_DIGITS, MAX_TEXT, NUMBER, fold, half_unit, read_table, value_of, words

DATA_FILES: Final = ("data/truth/insights_claims.toml", "data/truth/unsendable.toml")

_FACT: Final = re.compile(r"(?P<row>.{1,80}?): (?P<statement>.{1,160})", re.DOTALL)
_NUMBER: Final = re.compile(NUMBER)
_UNIT: Final = (
    r"(?P<unit> ?(?:%|por cento\b|pontos percentuais|p\.? ?p\.?|pontos\b|vezes\b|x\b|reais\b|º|°|ª|o lugar|a posicao))?"
)
_ORDINAL: Final = "ordinal"
_UNITS: Final = {
    "por cento": "%",
    "reais": "r$",
    "pontos percentuais": "points",
    "pontos": "points",
    "vezes": "times",
    "x": "times",
    **dict.fromkeys(("º", "°", "ª", "o lugar", "a posicao"), _ORDINAL),
}
_CODE: Final = 2
"""Letters of a state's code."""
_END: Final = re.compile(r"\n+|(?<=[.!?;])\s+")
MOST_NAMES: Final = 40
"""Rows, and columns and numbers, of a sentence that are read; one with as many says nothing that is understood."""
_LONG: Final = 6
"""Letters of a word that can stand for a row."""
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_MONTHS: Final = ("janeiro", "fevereiro", "marco", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro",
                  "novembro", "dezembro")  # fmt: skip
_MONTH: Final = re.compile(rf"({'|'.join(_MONTHS)})/(\d{{4}})")


class Cell(NamedTuple):
    """One number of the table."""

    row: str
    column: str
    value: float
    unit: str
    """`r$`, `%` or nothing."""


@dataclass(frozen=True)
class TruthTable:
    """Rows and columns of a table of figures, folded."""

    facts: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]
    """By row and column."""
    named: re.Pattern[str]
    """Finds a row."""
    measured: re.Pattern[str]
    """Finds a column or a number."""
    titles: Mapping[str, str]
    """The column of each word for one."""
    aliases: Mapping[str, str]
    """The row of each other name for one."""
    years: frozenset[float] = frozenset()
    """The years of its period; empty if unknown."""

    @cached_property
    def rows(self) -> list[str]:
        """Return the rows."""
        return list(dict.fromkeys(row for row, _ in self.cells))

    @cached_property
    def columns(self) -> list[str]:
        """Return the columns."""
        return list(dict.fromkeys(column for _, column in self.cells))

    def column(self, name: str) -> dict[str, Cell]:
        """Return the cells of a column by row."""
        return self._by_column.get(name, {})

    @cached_property
    def _by_column(self) -> dict[str, dict[str, Cell]]:
        found: dict[str, dict[str, Cell]] = {}
        for (row, column), cell in self.cells.items():
            found.setdefault(column, {})[row] = cell
        return found

    @cached_property
    def own_words(self) -> frozenset[str]:
        """Return the words of its rows and columns, in each of their names."""
        return frozenset(word for name in (*self.rows, *self.titles, *self.aliases) for word in words(name))

    def months(self) -> list[str]:
        """Return the rows from the first month to the last; empty where they are no months."""
        dated = [(int(found[2]), _MONTHS.index(found[1]), row) for row in self.rows
                 if (found := _MONTH.fullmatch(row))]  # fmt: skip
        return [row for *_, row in sorted(dated)] if len(dated) == len(self.rows) else []


class Name(NamedTuple):
    """A row, a column or a number that a sentence names."""

    kind: str
    """`row`, `column` or `number`."""
    value: str
    """The row or the column."""
    start: int
    end: int
    number: float = 0.0
    off: float = 0.0
    """What the number may be off, as it is rounded."""
    unit: str = ""


@dataclass(frozen=True)
class SaidSentence:
    """A sentence with what it names, in order."""

    text: str
    """Folded."""
    names: tuple[Name, ...]
    line: int
    carried: tuple[str, ...] = field(default=())
    """Rows that the line named before, where the sentence names none."""

    def named(self, kind: str) -> list[Name]:
        """Return the names of a kind."""
        return [name for name in self.names if name.kind == kind]


@lru_cache(maxsize=2_048)
def read_facts(facts: tuple[str, ...], prompt: str = "") -> TruthTable:
    """Return the table that facts `row: statement` give, each statement with one number; the prompt has its period."""
    cells: dict[tuple[str, str], Cell] = {}
    for fact in facts:
        found = _FACT.fullmatch(fact)
        statement = fold(found["statement"]) if found else ""
        number = _NUMBER.search(statement)
        if found is None or number is None or len(number[0]) > MAX_DIGITS:
            continue
        row, column = fold(found["row"]), _column_of(statement[: number.start()], statement[number.end() :])
        unit = "%" if statement[number.end() :].startswith("%") else "r$" if "r$" in statement else ""
        cells[row, column] = Cell(row, column, value_of(number[0]), unit)
    rows = sorted({row for row, _ in cells}, key=len, reverse=True)
    titles = {word: column for column in {column for _, column in cells} for word in _words_for(column)}
    aliases = _aliases(rows, titles)
    known = sorted((*map(_row_pattern, rows), *map(re.escape, aliases)), key=len, reverse=True)
    named = re.compile(rf"\b(?:{'|'.join(known)})(?!\w)" if known else r"(?!)")
    years = frozenset(map(float, _YEAR.findall(f"{prompt[:MAX_TEXT]} {' '.join(rows)}")))
    return TruthTable(facts, cells, named, _measured(frozenset(titles)), titles, aliases, years)


@lru_cache(maxsize=256)
def _measured(titles: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern of a column's words or a number; kept, as tables have the same few columns."""
    named = "|".join(re.escape(word) for word in sorted(titles, key=len, reverse=True))
    return re.compile(
        (rf"\b(?P<column>{named})(?!\w)|" if named else r"(?P<column>(?!))|")
        + rf"(?P<money>r\$ ?)?(?<![\w,.])(?P<number>{NUMBER})(?P<thousand> mil\b| milhao\b| milhoes\b)?{_UNIT}"
    )


def _aliases(rows: Sequence[str], titles: Mapping[str, str]) -> dict[str, str]:
    """Return the names of states, and the long words that only one row has."""
    named = {name: row for row in rows if (name := state_names().get(row))}
    for row in rows:
        others = {word for other in rows if other != row for word in words(other)}
        own = [word for word in words(row) if len(word) >= _LONG and word not in others and word not in titles]
        named |= {word: row for word in own if word != row and not _MONTH.fullmatch(row)}
    return named


@cache
def state_names() -> Mapping[str, str]:
    """Return the folded name of each state by its folded code."""
    return {fold(code): fold(name) for code, name in read_table("insights_claims")["states"].items()}


def _row_pattern(row: str) -> str:
    """Return the pattern of a row: a month without its year is the month too, a weekday without `-feira`."""
    dated, weekday = _MONTH.fullmatch(row), row.removesuffix("-feira")
    if dated:
        return rf"{dated[1]}(?:(?:/| de |/de )(?:{dated[2]}|{dated[2][2:]}))?"
    return re.escape(weekday) + "(?:-feira)?" if weekday != row else re.escape(row)


def _column_of(before: str, after: str) -> str:
    said = f"{before} {after}"
    for column, entry in read_table("insights_claims")["column"].items():
        if any(word in said for word in entry["is"]):
            return str(column)
    return " ".join(said.replace("r$", " ").replace("%", " ").split())


@cache
def _words_for(column: str) -> tuple[str, ...]:
    entry = read_table("insights_claims")["column"].get(column)
    return tuple(entry["words"]) if entry else ((column,) if column else ())


def read_sentences(text: str, folded: str, table: TruthTable) -> list[SaidSentence]:
    """Return the sentences of an analysis with the rows, columns and numbers that they name.

    Args:
        text: The analysis, in whose capitals a state is no small word.
        folded: The same folded; as long as it, or else no capital is looked at.
        table: Its table.
    """
    written = text if len(text) == len(folded) else ""
    sentences: list[SaidSentence] = []
    for line, (start, end) in enumerate(_lines(folded)):
        carried: tuple[str, ...] = ()
        for begin, stop in _spans(folded, start, end):
            names = _names(folded, written, table, begin, stop)
            rows = tuple(name.value for name in names if name.kind == "row")
            sentences.append(SaidSentence(folded[begin:stop], names, line, () if rows else carried))
            carried = rows[-1:] or carried
    return sentences


def _lines(folded: str) -> list[tuple[int, int]]:
    spans, start = [], 0
    for line in folded.split("\n"):
        if line.strip():
            spans.append((start, start + len(line)))
        start += len(line) + 1
    return spans


def _spans(folded: str, start: int, end: int) -> list[tuple[int, int]]:
    spans = []
    for found in _END.finditer(folded, start, end):
        spans.append((start, found.start()))
        start = found.end()
    return [*spans, (start, end)]


def _names(folded: str, written: str, table: TruthTable, begin: int, stop: int) -> tuple[Name, ...]:
    """Return what a sentence names, in order; what stands within a row's name is nothing else."""
    found = [
        Name(
            "row", table.aliases.get(match[0]) or _full_row(match[0], table), match.start() - begin, match.end() - begin
        )
        for match in islice(table.named.finditer(folded, begin, stop), MOST_NAMES)
        if _is_row(match[0], written[match.start() : match.end()])
    ]
    rows = [(name.start, name.end) for name in found]
    for match in islice(table.measured.finditer(folded, begin, stop), MOST_NAMES):
        name = _measure(match, table, begin)
        if name is not None and not any(name.start < end and start < name.end for start, end in rows):
            found.append(name)
    return tuple(sorted(found, key=attrgetter("start")))


def _measure(match: re.Match[str], table: TruthTable, begin: int) -> Name | None:
    start, end = match.start() - begin, match.end() - begin
    if match["column"]:
        return Name("column", table.titles[match["column"]], start, end)
    if len(match["number"]) > MAX_DIGITS:
        return Name("number", "", start, end, float("inf"))
    times = {"": 1.0, "mil": 1e3}.get((match["thousand"] or "").strip(), 1e6)
    said = (match["unit"] or "").strip()
    unit = "r$" if match["money"] else _UNITS.get(said, "points" if said.startswith("p") else said)
    if unit == _ORDINAL:
        return None
    return Name("number", "", start, end, value_of(match["number"]) * times, half_unit(match["number"]) * times, unit)


def _is_row(folded: str, written: str) -> bool:
    """Return whether a name is a state's as it is written: SP, Bahia; "ac" and "para" may be anything."""
    if len(folded) == _CODE and written:
        return written.isupper()
    is_state = folded in _state_words()
    return not (is_state and written and (written[0].islower() or written == "Para"))


@cache
def _state_words() -> frozenset[str]:
    return frozenset(state_names().values())


def _full_row(said: str, table: TruthTable) -> str:
    rows: Sequence[str] = table.rows
    month = next((each for each in _MONTHS if said.startswith(each)), None)
    if month:
        year = said[-2:] if said[-1:].isdigit() else ""
        rows = [row for row in rows if row.startswith(f"{month}/") and row.endswith(year)]
        return rows[0] if rows else said
    return next((row for row in rows if row in (said, f"{said}-feira")), said)
