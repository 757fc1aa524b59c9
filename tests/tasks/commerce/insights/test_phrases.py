"""The data of evidence: whole, and written for every kind of row."""

import re

import pytest

from tasks.commerce.insights.render import sentences
from tasks.commerce.insights.scorer import CitedFinding, is_true
from tasks.commerce.insights.table import actions, figure_columns, frames, read_table
from tasks.commerce.text.lexicons import read_data
from tests.tasks.commerce.insights.tables import FACTS, FORMS, ROWS, prompt_of

ACTION_KEYS = {
    *("id", "texto", "colunas", "lado", "linhas"),
    *("opostos", "leve", "amostra", "promove", "divulga"),
}
COLUMN_KEYS = {
    *("como", "o", "pron", "unidade", "com", "um", "melhor", "graus", "soma", "media", "passo", "relativo"),
    *("age_acima", "age_abaixo", "ruim", "vezes"),
}
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
                if is_true(table, finding):
                    found = sentences(table, finding)
                    assert len(set(found)) == len(found) >= 2, (kind, column, fact)
                    assert not any("{" in each or "  " in each or not each.endswith(".") for each in found), found
                    said += 1
    assert said > 40


def test_actions_name_what_there_is_and_say_it_of_each_kind_of_row() -> None:
    listed = read_data("evidence/actions.toml")["acoes"]
    assert len(actions()) == len(listed)
    for action in actions().values():
        assert action.keys() <= ACTION_KEYS, action.id
        assert re.fullmatch("[a-z_]+", action.id)
        assert action.lado in ("alto", "baixo", "ambos")
        assert {*(action.opostos or ())} <= actions().keys(), action.id
        assert {*action.colunas} <= figure_columns().keys(), action.id
        for kind in action.linhas:
            assert action.texto.format(nome="x", **frames().linhas[kind]), action.id
    for frame in frames().frases:
        assert {"fatos", "texto"} <= frame.keys() <= {"fatos", "texto", "colunas"}
        assert {*(frame.colunas or ())} <= figure_columns().keys()
        assert {*frame.fatos} <= {*FACTS}
    for column in figure_columns().values():
        assert {"como", "o", "pron", "unidade", "com", "passo"} <= column.keys() <= COLUMN_KEYS
        assert column.pron in ("a", "o") and column.unidade in ("R$", "%", "unidades", "nota") and column.passo > 0
        assert column.melhor in ("alto", "baixo", None)
    assert len(frames().meses) == 12
    assert all({"em", "de", "envio", "pedidos"} <= forms.keys() for forms in frames().linhas.values())
