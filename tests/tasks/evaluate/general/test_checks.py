"""Checks: strict on what was asked, fair to other wordings of a right answer."""

import pytest

from tasks.evaluate.general.instructions import CHECKS


@pytest.mark.parametrize(
    ("check", "parameters", "right", "wrong"),
    [
        ("words", {"least": 3, "most": 3}, "- guarda-chuva, R$ 3,50!", "um dois três quatro"),
        ("sentences", {"least": 2, "most": 2}, "O Dr. Lima chegou às 9.30... Saiu logo!", "Chegou às 9.30 e saiu."),
        ("sentences", {"least": 1, "most": 1}, "“Venha!”", "Venha! Já."),
        ("lines", {"count": 2, "least_words": 2}, "\num dois\n\ntrês quatro\n", "um dois\ntrês"),
        ("bullets", {"count": 2}, "- um\n\n- dois", "um\ndois"),
        ("bullets", {"count": 2, "numbered": True}, "1) um\n2) dois", "1. um\n1. dois"),
        ("starts", {"text": "Quando"}, "“Quando chove, durmo.”", "quando chove"),
        ("starts", {"text": "Era uma vez"}, "**Era uma vez** um rei.", "Era uma vezes"),
        ("ends", {"text": "mar"}, "Fui ver o mar.”", "Fui ver o mar azul."),
        ("ends", {"text": "Fim!"}, "Acabou. Fim!", "Acabou. Fim"),
        ("contains", {"texts": ["sol"], "times": 2}, "Sol e sol.", "Sol, sol, sol; solar"),
        ("contains", {"texts": ["água", "pão"]}, "ÁGUA e pão", "agua e pão"),
        ("forbids", {"texts": ["sol"]}, "girassol", "O Sol!"),
        ("without", {"characters": "uú"}, "casa", "ÚLTIMO"),
        ("without_emoji", {}, "30 °C © já", "já 🎉"),
        ("case", {"form": "upper"}, "JÁ É 1º!", "JÁ é"),
        ("case", {"form": "lower"}, "já é", "123"),
        ("equals", {"texts": ["03/03/2024"]}, "“03/03/2024”.", "3/3/2024"),
        ("equals", {"texts": ["não"]}, "**Não.**", "não, porque"),
        ("copies", {"text": "Ai, ai!"}, "“Ai, ai!”", "Ai, ai"),
        ("sequence", {"texts": ["uva", "R$ 1,50", "figo"]}, "1. Uva\n2. R$ 1,50\n3. figo", "uva, figo, R$ 1,50"),
        ("sequence", {"texts": ["uva", "figo"]}, "uva e figo.", "As frutas são uva e figo"),
        ("alphabetical", {"count": 3}, "abacaxi, Água, amora", "uva, amora, caju"),
        ("alphabetical", {"count": 2}, "ana\nbia", "ana, ana"),
        ("json_object", {"keys": ["a"], "values": {"a": 1}}, '```json\n{"a": 1}\n```', '{"a": "1"}'),
        ("json_object", {"keys": ["a"], "values": {"a": False}}, '{"a": false}', '{"a": 0}'),
        ("json_object", {"keys": ["a"], "values": {}}, '{"a": 0}', '{"a": 0, "b": 1}'),
        (
            "table",
            {"columns": ["dia", "mês"], "rows": 1},
            "dia | mês\n--|--\n1 | maio",
            "| dia | mês |\n|---|---|\n| 1 |",
        ),
        ("titled", {"most": 3, "least_words": 2}, "# Meu dia\n\nFoi bom.", "Meu dia\nFoi bom."),
        ("quoted", {}, '"Sim, senhor."', "Ele disse “sim”"),
        ("portuguese", {}, "O rio corre para o mar.", "The river runs to the sea."),
        ("portuguese", {}, "Um rio corre em silêncio.", "de de de de de de"),
    ],
)
def test_a_check(check: str, parameters: dict[str, object], right: str, wrong: str) -> None:
    assert CHECKS[check](right, **parameters)
    assert not CHECKS[check](wrong, **parameters)
