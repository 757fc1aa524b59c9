"""Files of any kind are found and looked at, and what is none is refused in a sentence."""

import json
from pathlib import Path

import polars as pl
import pytest

from schemas.errors import InputError
from tasks.synthesize.columns.look import find_files, is_personal, look_at, looks_like
from tasks.synthesize.columns.names import folded, read_names
from tests.cases import cases_of
from tests.tasks.synthesize.exports import Cell, write_workbook

CASES = cases_of(__file__)


def test_a_folder_gives_its_files_and_nothing_else(tmp_path: Path) -> None:
    for name in ("b.csv", "a.jsonl", "leia.txt", ".oculto.csv"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    assert [file.name for file in find_files([tmp_path])] == ["a.jsonl", "b.csv"]


def test_the_same_cells_are_read_from_every_kind_of_file(tmp_path: Path) -> None:
    table = pl.DataFrame({"pedido": ["1", "2"], "nota": ["5", None]})
    (tmp_path / "a.csv").write_bytes("pedido;nota\r\n1;5\r\n2;\r\n".encode("cp1252"))
    table.write_parquet(tmp_path / "a.parquet")
    lines = [{"pedido": 1, "nota": 5, "cliente": {"nome": "Ana"}}, {"pedido": 2, "nota": None}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        assert look_at(tmp_path / name).cells.equals(table), name
    assert look_at(tmp_path / "a.jsonl").nested == ("cliente",)


def test_a_workbook_is_read_as_it_is_shown(tmp_path: Path) -> None:
    rows: list[list[Cell]] = [["Pedido", "Valor", "Estado"], ["1001", 10.5, "SP"], [None, 12, "RJ"]]
    help_sheet: list[list[Cell]] = [["Ajuda"], ["Leia"]]
    path = write_workbook(tmp_path / "a.xlsx", {"A": rows, "B": help_sheet}, merged=["A2:A3"], hidden=["B"])
    cells = [("1001", "10.5", "SP"), ("1001", "12", "RJ")]
    assert (look_at(path).cells.rows(), look_at(path).numbers) == (cells, frozenset({"Valor"}))
    refused: list[tuple[dict[str, list[list[Cell]]], str]] = [
        ({"A": rows, "B": rows}, r"has rows in 2 sheets \('A', 'B'\); save each as a file of its own"),
        ({"A": [*rows, ["1002", "=B2+B3", "SP"]]}, "has formulas without results"),
        ({"A": [["ana@b.com", "1", "2"] for _ in range(3)]}, "has no row with the names of its columns"),
    ]
    for sheets, sentence in refused:
        with pytest.raises(InputError, match=sentence):
            look_at(write_workbook(path, sheets))


def test_other_files_and_empty_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "leia.md").write_text("x", encoding="utf-8")
    (tmp_path / "vazia").mkdir()
    for name, sentence in (
        ("nada.csv", r"nada\.csv does not exist; give files or folders of \.csv"),
        ("leia.md", r"leia\.md is none of \.csv, .*; export it as one of them"),
        ("vazia", r"folder .*vazia has no files of \.csv"),
    ):
        with pytest.raises(InputError, match=sentence):
            find_files([tmp_path / name])


@pytest.mark.parametrize(("kind", "like", "unlike"), CASES["cells_are_of_their_kind_only"])
def test_cells_are_of_their_kind_only(kind: str, like: list[str], unlike: list[str]) -> None:
    assert looks_like(pl.Series(like), kind)
    assert not looks_like(pl.Series(unlike), kind)
    assert not looks_like(pl.Series([None], dtype=pl.String), kind)


@pytest.mark.parametrize(("cells", "personal"), CASES["personal_data_is_found_whatever_its_column_is_called"])
def test_personal_data_is_found_whatever_its_column_is_called(cells: str, personal: bool) -> None:
    assert [is_personal(pl.Series([cell, None])) for cell in cells.split("|")] == [personal] * 6


@pytest.mark.parametrize(("one", "names"), CASES["names_are_compared_by_what_they_say"])
def test_names_are_compared_by_what_they_say(one: str, names: list[str]) -> None:
    assert {folded(name) for name in names} == {folded(one)}


def test_no_name_of_personal_data_is_the_name_of_another_column() -> None:
    names = read_names()
    for table, columns in names.tables.items():
        for column, ranks in columns.items():
            assert not names.personal & set(ranks), (table, column)
