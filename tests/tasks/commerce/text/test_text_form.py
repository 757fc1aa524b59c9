import unicodedata

import pytest

from tasks.commerce.text.text_form import fold, refuses, words


def test_words_are_folded_and_keep_the_signs_of_money_and_percent() -> None:
    assert words("Só R$ 1.234,5 e 20% À VISTA") == ["so", "r$", "1.234,5", "e", "20", "%", "a", "vista"]


@pytest.mark.parametrize("text", ["Ação", "ÀS ÓRFÃS", "Ac\u0327a\u0303o", "à\xa0vista", "1ª opção", "ção – já • só 🧸"])
def test_folding_by_table_is_folding_by_unicode(text: str) -> None:
    decomposed = unicodedata.normalize("NFKD", text.lower())
    plain = "".join(character for character in decomposed if not unicodedata.combining(character))
    assert words(text) == words(plain)
    assert fold(text).isascii()


@pytest.mark.parametrize(
    "text", ["Desculpe, não posso.", "Não consigo fazer isso", "Como um modelo de linguagem, eu", "LAMENTO!"]
)
def test_refusals_are_recognised(text: str) -> None:
    assert refuses(text)


@pytest.mark.parametrize("text", ["Parcelamento sem juros e cancelamento grátis!", "Aproveite o frete grátis."])
def test_offers_are_no_refusals(text: str) -> None:
    assert not refuses(text)
