import tomllib

import pytest

from tasks.commerce.churn import claims
from tasks.commerce.churn.pattern_keys import keys_of
from tasks.commerce.text.lexicons import FOLDER


@pytest.mark.parametrize(
    ("pattern", "keys"),
    [
        ("nota baixa", {"nota"}),
        ("(?:muito )?atras(?:o|ou)", {"atra"}),
        ("pedidos?", {"pedi"}),
        ("notas?", {"nota"}),
        ("(?:nota|avaliacao) ruim", {"ruim"}),
        ("(?:(?:nota|avaliacao) )?(?:boa|ruim)", {"boa", "ruim"}),
        ("(?P<n>\\d[\\d.,]*) estrelas?(?! de)", {"estr"}),
        ("in?feliz", None),
        ("\\w+feliz", None),
        ("(?:[a-z]+)?feliz", None),
        ("a(?! b)", None),
    ],
)
def test_a_key_is_the_beginning_of_a_word_that_must_be_there(pattern: str, keys: set[str] | None) -> None:
    assert keys_of(pattern) == keys


def test_a_parenthesis_too_many_is_refused() -> None:
    with pytest.raises(ValueError, match="too many"):
        keys_of("nota)")


def test_no_pattern_that_matches_a_text_is_left_out() -> None:
    """Each alternative of the data, as plain words, is found by its keys."""
    said = "o cliente fez 3 pedidos , nao voltou ha 90 dias , deu nota 5 sem atraso e deve comprar de novo"
    tried = {wording.order for wording in claims._tried(said)}
    always, by_key = claims._patterns()
    every = {wording.order: wording for wordings in (always, *by_key.values()) for wording in wordings}
    matching = {order for order, wording in every.items() if wording.pattern.search(f" {said}")}
    assert matching
    assert matching <= tried
    document = tomllib.loads((FOLDER / "churn_claims.toml").read_text(encoding="utf-8"))
    assert len(every) == sum(len(entry["says"]) for entry in document["claim"])
