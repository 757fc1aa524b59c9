"""Openers of a model: those that a person may approve are kept, and all others are dropped with a reason."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.commerce.push.phrases import OwnOpener, OwnPhrases, read_phrases
from tasks.phrases.openers import KNOWN, MAX_REQUESTS, append, approved, fault_of, propose
from tests.cases import cases_of

CASES = cases_of(__file__)


def saying(*answers: str) -> tuple[Callable[[str, str, int], str], list[str]]:
    """Return a model that gives these answers, and the last for ever, with what it was asked."""
    asked: list[str] = []

    def ask(_: str, text: str, number: int) -> str:
        asked.append(text)
        return answers[min(number, len(answers) - 1)]

    return ask, asked


@pytest.mark.parametrize(("text", "reason"), CASES["faults"])
def test_an_opener_that_no_shop_may_send_has_its_fault(text: str, reason: str) -> None:
    assert reason in (fault_of(text) or "")


def test_good_lines_of_a_list_are_kept_once_and_the_others_are_counted() -> None:
    ask, asked = saying('1. Cheirinho de bolo\n- "Panela no fogo!"\n\nClaro, aqui estão:\nCheirinho de bolo!')
    kept, dropped = propose("cozinha", 20, ask)
    assert kept == ["Cheirinho de bolo.", "Panela no fogo!"]
    assert len(asked) == MAX_REQUESTS
    assert dropped[KNOWN] == 1 + 3 * (MAX_REQUESTS - 1)
    assert dropped.total() == 4 * MAX_REQUESTS - 2
    assert all(each in asked[0] for each in ("cozinha", "panelas", *read_phrases().grupos["cozinha"].aberturas))


def test_a_group_that_is_not_there_is_refused_before_a_model_is_asked() -> None:
    ask, asked = saying("")
    with pytest.raises(InputError, match=r"no group 'cozinhas'; use one of: geral, .*cozinha"):
        propose("cozinhas", 5, ask)
    assert not asked


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


@pytest.mark.parametrize(("rows", "sentence"), CASES["bad_sheets"])
def test_a_bad_sheet_is_refused_whole(tmp_path: Path, rows: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence.replace("{", r"\{")):
        approved(sheet(tmp_path, rows))
