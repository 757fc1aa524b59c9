"""The data of evidence: whole, and written for every kind of row."""

import re

from tasks.commerce.insights.table import actions, figure_columns, frames
from tasks.commerce.text.lexicons import read_data
from tests.tasks.commerce.insights.tables import FACTS

ACTION_KEYS = {
    *("id", "texto", "colunas", "lado", "linhas"),
    *("opostos", "leve", "amostra", "promove", "divulga"),
}
COLUMN_KEYS = {
    *("como", "o", "pron", "unidade", "com", "um", "melhor", "graus", "soma", "media", "passo", "relativo"),
    *("age_acima", "age_abaixo", "ruim", "vezes"),
}


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
