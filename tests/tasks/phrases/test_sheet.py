"""Sheet of openers: what a person approves becomes the shop's own, and nothing else does."""

import tomllib
from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.commerce.push.phrases import OwnOpener, OwnPhrases
from tasks.phrases.openers import append, approved, write_sheet

HEADER = "group,opener,approved,by\n"


def sheet(folder: Path, rows: str, header: str = HEADER) -> Path:
    file = folder / "sheet.csv"
    file.write_text(header + rows, encoding="utf-8")
    return file


def test_nothing_of_a_new_sheet_is_approved(tmp_path: Path) -> None:
    write_sheet(tmp_path / "s.csv", "cozinha", ["Cheirinho de bolo."])
    with pytest.raises(InputError, match=r"approves nothing new; write `sim`"):
        approved(tmp_path / "s.csv")


def test_only_what_is_approved_is_added_behind_what_was_there(tmp_path: Path) -> None:
    rows = "cozinha;Cheirinho de bolo.;Sim;Ana\ncozinha;Panela no fogo!;não;Ana\ngeral;Bom te ver!;;\n"
    found = approved(sheet(tmp_path, rows, HEADER.replace(",", ";")))
    assert found == [OwnOpener(grupo="cozinha", texto="Cheirinho de bolo.", por="Ana")]
    file = tmp_path / "frases.toml"
    append(found, file)
    before = file.read_bytes()
    append([OwnOpener(grupo="geral", texto="Bom te ver!", por='Rui "R" \\')], file)
    assert file.read_bytes().startswith(before)
    read = OwnPhrases.model_validate(tomllib.loads(file.read_text(encoding="utf-8"))).aberturas
    assert [(each.grupo, each.texto, each.por) for each in read] == [
        ("cozinha", "Cheirinho de bolo.", "Ana"),
        ("geral", "Bom te ver!", 'Rui "R" \\'),
    ]


def test_what_stands_in_the_phrases_is_not_added_again(tmp_path: Path) -> None:
    rows = "cozinha,Hora de cozinhar.,sim,Ana\ncozinha,Panela no fogo!,yes,Ana\ncozinha,Panela no fogo.,yes,Ana\n"
    assert [each.texto for each in approved(sheet(tmp_path, rows))] == ["Panela no fogo!"]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("cozinha,Leve 5 panelas.,sim,Ana\n", "row 2: the opener has digits"),
        ("cozinha,Leve {oferta}.,sim,Ana\n", "row 2: the opener has fields or braces"),
        ("cozinha,Panela no fogo!,sim,\n", "row 2: `by` does not say who"),
        ("cozinha,Bolo na mesa!,sim,Ana\ncozinha,Panela no fogo!,talvez,Ana\n", "row 3: `approved` is no sim"),
        ("cozinhas,Panela no fogo!,sim,Ana\n", "no group 'cozinhas'"),
        ("", "sheet.csv"),
    ],
)
def test_a_bad_sheet_is_refused_whole(tmp_path: Path, rows: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence.replace("{", r"\{")):
        approved(sheet(tmp_path, rows))


def test_a_sheet_without_a_column_or_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lacks the column 'by'"):
        approved(sheet(tmp_path, "cozinha,Panela no fogo!,sim\n", "group,opener,approved\n"))
    with pytest.raises(InputError, match="absent"):
        approved(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="cannot be written"):
        append([], tmp_path / "sheet.csv" / "frases.toml")
