"""CSV as Brazilian spreadsheets write it, read where there is one way to read it and refused where there are two.

Excel in Brazil writes `;`, the code page cp1252 and decimal commas; other programs write `,` or tabs and UTF-8. Each
delimiter is tried on the whole file instead of guessed from a sample, as `csv.Sniffer` does, whose wrong guess would
shift columns without a word. No message repeats a cell: where a row is shifted, a person's words are in any column.

A sheet that is written for people has no cells that a spreadsheet computes.
"""

import csv
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, Literal

import polars as pl

from schemas.errors import InputError

DELIMITERS: Final = {";": "semicolons", ",": "commas", "\t": "tabs"}
MOST_BYTES: Final = 512 * 2**20
"""A larger file, with an emoji in it, would take more than 4 GB of memory; Parquet holds the same in less."""

_SAVE: Final = "save it as CSV UTF-8"
# Excel's own way to name the delimiter, as a line above the header.
_NAMED_DELIMITER: Final = re.compile(r'\A"?sep=([;,\t])"?(?:\r\n|\r|\n)', re.IGNORECASE)
# A lower-case Portuguese letter, a typographic sign or an emoji in UTF-8, which cp1252 would read as Ã§, â€œ and ðŸ˜€.
_UTF8_LETTER: Final = re.compile(rb"\xc3[\xa1-\xbf]|\xe2[\x80-\x9f][\x80-\xbf]|\xf0\x9f[\x80-\xbf]{2}")
_LINES: Final = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_ROWS_AT_ONCE: Final = 20_000


@dataclass(frozen=True)
class DelimitedText:
    """Text of a file whose delimiter is not decided yet."""

    text: str
    first_line: int
    named_delimiter: str | None
    """The delimiter of a line `sep=;` at the top, if there is one."""

    def rows(self, delimiter: str) -> Iterator[tuple[int, list[str]]]:
        """Yield each row's line and cells; a blank line has no cells, and those at the end are left out."""
        # One by one: a StringIO has four bytes a character.
        reader = csv.reader((line[0] for line in _LINES.finditer(self.text)), delimiter=delimiter, strict=True)
        blank: list[int] = []
        while True:
            line = self.first_line + reader.line_num
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise ValueError(f"line {line}: {_explain(error)}") from None
            if not cells:
                blank.append(line)
                continue
            yield from ((number, []) for number in blank)
            blank.clear()
            yield line, cells


def read_delimited(path: Path) -> pl.DataFrame:
    """Read CSV with a header as a table of strings; an empty cell is null.

    Names of columns are stripped; rows of empty cells at the end, and columns at the right with neither a name nor a
    value, are left out.
    """
    source = read_text(path)
    if not source.text.strip():
        raise InputError(f"{path} is empty; export it again")
    found: dict[str, pl.DataFrame] = {}
    faults: dict[str, ValueError] = {}
    for delimiter in _candidates(source):
        try:
            found[delimiter] = _read(source, delimiter)
        except ValueError as error:
            faults[delimiter] = error
    if not found:
        # Of a header that has several, the delimiter that makes most columns is the one that was meant.
        raise InputError(f"{path}: {next(iter(faults.values()))}; correct it, or export it again")
    first, *others = found
    if others and found[first].width > 1:
        raise InputError(
            f"{path} can be read as separated by {' or by '.join(DELIMITERS[delimiter] for delimiter in found)}; put "
            f"a line sep={first} above its header, with the one that it is"
        )
    return found[first]


def read_text(path: Path) -> DelimitedText:
    """Read and decode a file."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(
                f"{path} is larger than {MOST_BYTES // 2**20} MB; split it into several files, or save it as Parquet"
            )
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give a CSV file that you may read") from None
    if b"\0" in content:
        line = _line(content, content.index(b"\0"))
        raise InputError(f"{path}: line {line} has a NUL byte: it is a workbook, UTF-16 or no text; {_SAVE}")
    text = _decoded(path, content)
    named = _NAMED_DELIMITER.match(text)
    return DelimitedText(text[named.end() :], 2, named[1]) if named else DelimitedText(text, 1, None)


def _decoded(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder counts after the byte order mark.
        line = _line(error.object, error.start)
        if content.startswith(b"\xef\xbb\xbf") or _UTF8_LETTER.search(content):
            raise InputError(f"{path}: line {line} is not UTF-8 as the rest of it is; {_SAVE} again") from None
    try:
        return content.decode("cp1252")
    except UnicodeDecodeError as error:
        line = _line(content, error.start)
        raise InputError(f"{path}: line {line} is neither UTF-8 nor cp1252; {_SAVE}") from None


def _line(content: bytes, position: int) -> int:
    """Return the number of the line with a byte; CR, LF and both end one."""
    return len(re.findall(rb"\r\n|\r|\n", content[:position])) + 1


def _explain(error: csv.Error) -> str:
    if "field limit" in str(error):
        return f"a cell is longer than {csv.field_size_limit():,} characters: is a quotation mark not closed?"
    return "a quotation mark is not closed, or stands inside a text without being doubled"


def _candidates(source: DelimitedText) -> Sequence[str]:
    """Return the delimiters to try, that of most columns first: those of the header, or all where it has one column."""
    if source.named_delimiter:
        return (source.named_delimiter,)
    widths = {delimiter: _header_width(source, delimiter) for delimiter in DELIMITERS}
    most = sorted(widths, key=widths.__getitem__, reverse=True)
    return [delimiter for delimiter in most if widths[delimiter] > 1] or most


def _header_width(source: DelimitedText, delimiter: str) -> int:
    try:
        return len(next(source.rows(delimiter))[1])
    except ValueError:
        # Quoted names are malformed with any delimiter but theirs.
        return 0


def _read(source: DelimitedText, delimiter: str) -> pl.DataFrame:
    """Read the text with one delimiter."""
    rows = source.rows(delimiter)
    line, header = next(rows)
    even = _even_rows(rows, len(header))
    parts = []
    # In parts, for a string of Python takes many times the memory of a string in a table.
    while batch := list(islice(even, _ROWS_AT_ONCE)):
        parts.append(pl.DataFrame(batch, [(str(place), pl.String) for place in range(len(header))], orient="row"))
    if not parts:
        raise ValueError(f"line {line} is a header without rows")
    return _named(pl.concat(parts).select(pl.all().replace("", None)), line, header)


def _even_rows(rows: Iterator[tuple[int, list[str]]], width: int) -> Iterator[list[str]]:
    """Yield the cells of each row, all as many as the header has; empty rows only before others."""
    empty = 0
    for line, cells in rows:
        if len(cells) != width and not (width == 1 and not cells):
            raise ValueError(
                f"line {line} has {len(cells)} cells where the header has {width}" if cells else f"line {line} is blank"
            )
        if not any(cells):
            empty += 1
            continue
        yield from ([""] * width for _ in range(empty))
        empty = 0
        yield cells


def _named(table: pl.DataFrame, line: int, header: Sequence[str]) -> pl.DataFrame:
    names = [name.strip() for name in header]
    while len(names) > 1 and not names[-1] and table.to_series(len(names) - 1).null_count() == table.height:
        names.pop()
    if "" in names:
        raise ValueError(f"line {line} has no name for column {names.index('') + 1}")
    for place, name in enumerate(names, 1):
        if (first := names.index(name) + 1) < place:
            raise ValueError(f"line {line} gives columns {first} and {place} the same name")
    return table.select(pl.nth(place).alias(name) for place, name in enumerate(names))


# Signs that begin a formula, the sign of minus too, and texts that are a number, a date or a truth value.
_CHANGED: Final = re.compile(
    r"[=+\-@\u2212]|(?=[^\n]*\d)[\d.,:/%eER$ \-]+\Z|(?:true|false|verdadeiro|falso)\s*\Z", re.IGNORECASE
)
# Categories of characters that show nothing by themselves, and those of other categories that are empty.
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cn", "Me", "Mn", "Zl", "Zp", "Zs"})
_FILLERS: Final = frozenset("\u115f\u1160\u2800")


def header_of(source: DelimitedText, known: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the delimiter under which the header has most of some known columns, and the header."""
    headers: dict[str, tuple[str, ...]] = {}
    faults = []
    for delimiter in DELIMITERS:
        try:
            headers[delimiter] = tuple(next((cells for _, cells in source.rows(delimiter) if cells), ()))
        except ValueError as error:
            faults.append(error)
    if not headers:
        raise faults[-1]
    best = max(headers, key=lambda delimiter: len({*headers[delimiter]} & {*known}))
    return best, headers[best]


def as_cell(text: str) -> str:
    """Return a text as a cell that a spreadsheet leaves alone: behind an apostrophe where it would compute it."""
    return f"'{text}" if _is_changed(text.lstrip("'")) else text


def of_cell(cell: str) -> str:
    """Return the text of a cell without apostrophes that only keep a spreadsheet from computing it."""
    text = cell.lstrip("'")
    return text if _is_changed(text) else cell


def _is_changed(text: str) -> bool:
    """Return whether a spreadsheet may change a text: it may drop what shows nothing, and take wide signs for usual."""
    if text.startswith(("\t", "\r", "\n")):
        return True
    # Not composed: `=` and a combining stroke would be another sign.
    plain = unicodedata.normalize("NFKD", text)
    seen = (n for n, each in enumerate(plain) if each not in _FILLERS and unicodedata.category(each) not in _INVISIBLE)
    return _CHANGED.match(plain, next(seen, len(plain))) is not None


# Numbers as Brazilians write them, `R$ 1.234,56`, or as programs do, `1234.56`: one way for a whole column.
Decimals = Literal["comma", "point"]

_DECIMAL_MARKS: Final = {"comma": ",", "point": "."}
_REAIS: Final = r"^(-?)\s*R\$\s*"
_WHOLE_NUMBER: Final = r"^-?\d+$"
# 1,234 is a decimal in Brazil and a thousand in English, 1.234 the other way around; 0,123 and 1234,567 are decimals.
_EITHER_WAY: Final = r"^-?[1-9]\d{0,2}%s\d{3}$"


def _number_pattern(decimal: str) -> str:
    grouped, point = re.escape("." if decimal == "," else ","), re.escape(decimal)
    return rf"^-?(?:\d+|[1-9]\d{{0,2}}(?:{grouped}\d{{3}})+)(?:{point}\d+)?$"


def read_numbers(column: pl.Series, what: str, decimals: Decimals | None, row: Callable[[int], str]) -> pl.Series:
    """Return a column of texts, perhaps with `R$`, as numbers; null stays null. A refusal names `what` and the row.

    All have a decimal comma (dots between thousands) or all a decimal point (commas between thousands). Where
    `decimals` does not say which, at least one must show it. `row` says how a row, counted from 0, is called.
    """
    texts = column.str.strip_chars().str.replace(_REAIS, "${1}")
    mark = _DECIMAL_MARKS[decimals] if decimals else _decimal_mark(texts, what, row)
    faulty = (~texts.str.contains(_number_pattern(mark))).arg_true()
    if len(faulty):
        sign = f" with a decimal {decimals}" if decimals else ""
        raise InputError(f"{what}: {row(faulty[0])} is no number{sign}; correct it, or leave it empty")
    plain = texts.str.replace_all("." if mark == "," else ",", "", literal=True)
    return plain.str.replace(",", ".", literal=True).cast(pl.Float64)


def _decimal_mark(texts: pl.Series, what: str, row: Callable[[int], str]) -> str:
    """Return the decimal sign that the numbers show; the point where none has one."""
    fits = {mark: texts.str.contains(_number_pattern(mark)) for mark in ",."}
    both = texts.str.contains(_EITHER_WAY % ",") | texts.str.contains(_EITHER_WAY % r"\.")
    by_comma, by_point = ((fits[mark] & ~both & ~texts.str.contains(_WHOLE_NUMBER)).arg_true() for mark in ",.")
    if len(by_comma) and len(by_point):
        raise InputError(
            f"{what}: {row(by_comma[0])} has a decimal comma and {row(by_point[0])} a decimal point; write all in one "
            "way"
        )
    if not len(by_comma) and not len(by_point) and both.any():
        raise InputError(
            f"{what}: {row(both.arg_true()[0])} is thousands or a decimal, and no other row tells which; "
            'say decimals = "comma" or "point" in the column map, or write it with two decimals'
        )
    return "," if len(by_comma) else "."
