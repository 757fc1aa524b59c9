"""A file of a Brazilian spreadsheet is read as it was written, or refused in a sentence without a cell of it."""

import csv
import io
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import InputError
from schemas.tables.delimited import read_delimited, read_numbers
from tests.cases import cases_of

CASES = cases_of(__file__)

CELLS = st.text(st.sampled_from("aZ1áçõ€ ,;\t\"'\n\r=.“”"), max_size=12)
DELIMITERS = [";", ",", "\t"]


def written(
    rows: list[list[str]], delimiter: str = ";", encoding: str = "utf-8", line_end: str = "\r\n", quoting: int = 0
) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=line_end, quoting=quoting)  # type: ignore[arg-type]
    writer.writerows(rows)
    return text.getvalue().encode(encoding)


def refusal(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "loja.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_delimited(path)
    return str(caught.value).removeprefix(str(path))


@settings(deadline=None, max_examples=50)
@given(
    rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=5),
    delimiter=st.sampled_from(DELIMITERS),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "cp1252"]),
    line_end=st.sampled_from(["\r\n", "\n", "\r"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_every_dialect_comes_back_as_it_was_written(
    rows: list[tuple[str, str]],
    delimiter: str,
    encoding: str,
    line_end: str,
    quoting: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    if any("\r" in cell or "\n" in cell for row in rows for cell in row):
        # Python's writer quotes only the line end that it writes itself.
        quoting = csv.QUOTE_ALL
    path = tmp_path_factory.getbasetemp() / "dialeto.csv"
    cells = [[f"p{number}", *row] for number, row in enumerate(rows)]
    path.write_bytes(written([["pedido", "preço", "avaliação"], *cells], delimiter, encoding, line_end, quoting))
    table = read_delimited(path)
    assert table.columns == ["pedido", "preço", "avaliação"]
    assert table.rows() == [tuple(cell or None for cell in row) for row in cells]


@settings(deadline=None)
@given(
    content=st.binary(max_size=60)
    | st.text(st.sampled_from('ab;,\t"\n\r\0é='), max_size=60).map(str.encode)
    | st.text(st.sampled_from('ab;"\né'), max_size=60).map(lambda text: text.encode("cp1252"))
)
def test_any_bytes_are_a_table_or_refused_in_one_sentence(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "qualquer.csv"
    path.write_bytes(content)
    try:
        table = read_delimited(path)
    except InputError as error:
        assert str(error).startswith(str(path))
        assert "\n" not in str(error)
    else:
        assert table.height > 0
        assert "" not in table.columns


def test_the_delimiter_is_the_one_that_fits_every_row(tmp_path: Path) -> None:
    """A guess from the header alone, or from the most frequent mark, would be the comma."""
    (tmp_path / "loja.csv").write_bytes(b"id;cor, tamanho\n1;azul, P\n2;verde\n")
    assert read_delimited(tmp_path / "loja.csv").columns == ["id", "cor, tamanho"]


def test_a_file_that_reads_in_two_ways_asks_for_the_line_that_decides_it(tmp_path: Path) -> None:
    twofold = b"id;cor,tamanho\n1;azul,P\n"
    assert "semicolons or by commas; put a line sep=; above its header" in refusal(tmp_path, twofold)
    (tmp_path / "loja.csv").write_bytes(b"sep=,\n" + twofold)
    assert read_delimited(tmp_path / "loja.csv").columns == ["id;cor", "tamanho"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", " is empty; export it again"),
        (b"a;b\n1;2\n\n3;4\n", ": line 3 is blank; correct it, or export it again"),
        (b'a;b\n1;"x\ny"\n3\n', ": line 4 has 1 cells where the header has 2; correct it, or export it again"),
        (b"a;b\n1;\0\n", ": line 2 has a NUL byte: it is a workbook, UTF-16 or no text; save it as CSV UTF-8"),
        ("a;b\r1;é\r2;".encode() + b"\xe9", ": line 3 is not UTF-8 as the rest of it is; save it as CSV UTF-8 again"),
    ],
)
def test_unreadable_content_is_refused_by_line(tmp_path: Path, content: bytes, sentence: str) -> None:
    assert refusal(tmp_path, content).startswith(sentence)


def numbers_of(*texts: str | None) -> list[float | None]:
    return read_numbers(pl.Series(texts, dtype=pl.String), "loja.csv: column 3", None, "row {}".format).to_list()


@given(cents=st.lists(st.integers(-(10**9), 10**9), min_size=1), mark=st.sampled_from(",."), grouped=st.booleans())
def test_amounts_come_back_as_they_were_written(cents: list[int], mark: str, grouped: bool) -> None:
    amounts = [number / 100 for number in cents]
    english = [f"{amount:,.2f}" if grouped else f"{amount:.2f}" for amount in amounts]
    texts = [text.translate(str.maketrans(",.", ".,")) if mark == "," else text for text in english]
    assert numbers_of(*texts) == amounts


@pytest.mark.parametrize(("texts", "numbers"), CASES["one_number_tells_how_the_others_are_written"])
def test_one_number_tells_how_the_others_are_written(
    texts: tuple[str | None, ...], numbers: list[float | None]
) -> None:
    assert numbers_of(*texts) == numbers


@pytest.mark.parametrize(("texts", "fault"), CASES["ambiguous_numbers_are_refused_by_row"])
def test_ambiguous_numbers_are_refused_by_row(texts: tuple[str, ...], fault: str) -> None:
    with pytest.raises(InputError, match=rf"\Aloja\.csv: column 3: {re.escape(fault)}"):
        numbers_of(*texts)
