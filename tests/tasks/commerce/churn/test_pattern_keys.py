import tomllib
from functools import reduce
from operator import or_

import pytest

from tasks.commerce.churn import claims
from tasks.commerce.churn.pattern_keys import keys_of
from tasks.commerce.text.lexicons import FOLDER


@pytest.mark.parametrize(
    ("pattern", "keys"),
    [
        ("nota baixa", [{"baixa"}, {"nota"}]),
        ("nota a", [{"nota"}]),
        ("(?:muito )?atras(?:o|ou)", [{"atras"}]),
        ("pedidos?", [{"pedido"}]),
        ("notas?", [{"nota"}]),
        ("(?:nota|avaliacao) ruim", [{"ruim"}, {"nota", "avalia"}]),
        ("(?:(?:nota|avaliacao) )?(?:boa|ruim)", [{"boa", "ruim"}]),
        ("(?:nota|a) ruim", [{"ruim"}]),
        ("(?:nota baixa|ruim)|sem", [{"baixa", "ruim", "sem"}]),
        ("(?P<n>\\d[\\d.,]*) estrelas?(?! de)", [{"estrel"}]),
        ("in?feliz", []),
        ("\\w+feliz", []),
        ("(?:[a-z]+)?feliz", []),
        ("a(?! b)", []),
    ],
)
def test_a_key_is_the_beginning_of_a_word_that_must_be_there(pattern: str, keys: list[set[str]]) -> None:
    assert list(keys_of(pattern)) == keys


def test_a_parenthesis_too_many_is_refused() -> None:
    with pytest.raises(ValueError, match="too many"):
        keys_of("nota)")


def test_no_pattern_that_matches_a_text_is_left_out() -> None:
    """Each alternative of the data, as plain words, is found by its keys."""
    said = "o cliente fez 3 pedidos , nao voltou ha 90 dias , deu nota 5 sem atraso e deve comprar de novo"
    tried = claims._tried(reduce(or_, map(claims.needs_met_by, said.split())), numbers=True)
    every = claims._wordings().every
    matching = [wording for wording in every if wording.pattern.search(f" {said}")]
    assert matching
    assert [wording for wording in tried if wording in matching] == matching
    document = tomllib.loads((FOLDER / "churn_claims.toml").read_text(encoding="utf-8"))
    assert len(every) == sum(len(entry["says"]) for entry in document["claim"])
