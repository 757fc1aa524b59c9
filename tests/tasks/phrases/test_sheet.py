"""Sheet of openers: what a person approves becomes the shop's own, and nothing else does."""

import tomllib
from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.commerce.push.phrases import OwnOpener, OwnPhrases
from tasks.phrases.openers import append, approved

HEADER = "group,opener,approved,by\n"


def sheet(folder: Path, rows: str, header: str = HEADER) -> Path:
    file = folder / "sheet.csv"
    file.write_text(header + rows, encoding="utf-8")
    return file


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
