"""The data of evidence: whole, refused in one sentence where it is broken, and written for every kind of row."""

import shutil
from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.commerce.insights.checker import CitedFinding, claim_fault
from tasks.commerce.insights.phrases import FOLDER, read_phrases
from tasks.commerce.insights.render import sentences
from tasks.commerce.insights.table import read_table
from tests.tasks.commerce.insights.tables import FACTS, FORMS, ROWS, prompt_of

VALUES = {
    "Receita": ("R$ 100", "R$ 400", "R$ 120"),
    "Pedidos": ("31", "90", "33"),
    "Atrasos": ("1,0%", "9,0%", "4,0%"),
    "Nota média": ("3,0", "4,8", "4,0"),
    "Ticket médio": ("R$ 50", "R$ 190", "R$ 80"),
    "Frete médio": ("R$ 9", "R$ 30", "R$ 14"),
}


@pytest.mark.parametrize("kind", ROWS)
def test_each_fact_of_each_column_and_kind_of_row_is_said_in_two_ways_or_more(kind: str) -> None:
    names = ROWS[kind][:3]
    rows = {name: [VALUES[column][place] for column in FORMS] for place, name in enumerate(names)}
    table = read_table(prompt_of(kind, list(FORMS), rows))
    assert table is not None
    said = 0
    for row in names:
        for column in FORMS:
            for fact in FACTS:
                finding = CitedFinding(
                    column, fact, table.texts[row, column], row, "", names[0] if fact == "razao" else ""
                )
                if claim_fault(table, finding) is None:
                    found = sentences(table, finding)
                    assert len(set(found)) == len(found) >= 2, (kind, column, fact)
                    assert not any("{" in each or "  " in each or not each.endswith(".") for each in found), found
                    said += 1
    assert said > 40


def broken(folder: Path, file: str, old: str, new: str) -> Path:
    shutil.copytree(FOLDER, folder)
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("actions.toml", 'id = "estoque_ampliar"', "id = 3", "acoes.0.id"),
        ("actions.toml", 'lado = "alto"', 'lado = "meio"', "lado"),
        ("actions.toml", "estoque {de} acompanha", "estoque {dee} acompanha", "dee"),
        ("actions.toml", '["receita", "pedidos"]', '["receitas"]', "receitas"),
        ("actions.toml", 'opostos = ["estoque_reduzir"]', 'opostos = ["nada"]', "nada"),
        ("actions.toml", 'id = "estoque_reduzir"', 'id = "estoque_ampliar"', "one id"),
        ("frames.toml", "passo = 0.5", "passo = -1", "passo"),
        ("frames.toml", 'fatos = ["maior"', 'fatos = ["maiores"', "fatos"),
        ("frames.toml", "[titulo]", "[titulo", "frames"),
        ("frames.toml", "{Max} {ser} {pron}", "{Maximo} {ser} {pron}", "Maximo"),
    ],
)
def test_a_broken_file_is_one_sentence(tmp_path: Path, file: str, old: str, new: str, said: str) -> None:
    folder = broken(tmp_path / "evidence", file, old, new)
    with pytest.raises(InputError) as caught:
        read_phrases(folder)
    message = str(caught.value)
    assert said in message or said == "frames"
    assert str(folder) in message
    assert "\n" not in message


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read.*correct the file"):
        read_phrases(tmp_path)
