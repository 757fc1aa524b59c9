import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.evaluate.general.instructions import CHECKS, instructions
from tasks.evaluate.retention import MIN_FOLLOWED_SHARE

ALL = instructions()


def test_right_answers_follow_and_wrong_ones_nothing_and_an_echo_do_not() -> None:
    for each in ALL:
        for answer in (each.right, f"{each.right}\n"):
            assert each.followed(answer), each.id
        for answer in (each.wrong, "", " \n", each.prompt, f"{each.prompt}\n{each.right}"):
            assert not each.followed(answer), each.id


def test_no_one_answer_follows_as_many_as_a_base_must_to_be_measured() -> None:
    answers = [*(each.right for each in ALL), "sim", "não", "ok", "- a\n- b", "a, b, c", "{}", "|", "A casa é azul."]
    most = max(sum(each.followed(answer) for each in ALL) for answer in answers)
    assert most / len(ALL) < MIN_FOLLOWED_SHARE


@given(st.text(max_size=60))
def test_no_answer_stops_a_check(answer: str) -> None:
    for each in ALL:
        assert each.followed(answer) in (True, False)


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
