"""The data of evidence: whole, and written for every kind of row."""

import pytest

from tasks.commerce.insights.checker import CitedFinding, claim_fault
from tasks.commerce.insights.phrases import read_phrases
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


def test_actions_name_what_there_is_and_say_it_of_each_kind_of_row() -> None:
    phrases = read_phrases()
    known = {action.id for action in phrases.acoes}
    assert len(known) == len(phrases.acoes)
    for action in phrases.acoes:
        assert {*action.opostos} <= known, action.id
        assert {*action.colunas} <= phrases.colunas.keys(), action.id
        for kind in action.linhas:
            words = phrases.linhas[kind].model_dump(exclude_defaults=True)
            assert action.texto.format(nome="x", **words), action.id
    assert all({*frame.colunas} <= phrases.colunas.keys() for frame in phrases.frases)
