import pytest

from tasks.commerce.text.remembered import MAX_KEPT_WORDS
from tasks.commerce.text.text_form import fold, words
from tasks.commerce.text.vocabulary import LONGEST_WORD, Vocabulary, root, roots

FORMS = (
    "recomendar recomendo recomenda recomendamos recomendou recomende recomendaria recomendem recomendando recomendado",
    "reduzir reduz reduza reduzimos reduziu reduzindo reduzido reduzirá",
    "oferecer ofereço ofereça ofereceu oferecerão oferecemos",
    "trocar troco troque troca trocando trocou troquem",
    "pagar pago pague pagou pagamos",
    "corrigir corrijo corrija corrige corrigiu",
    "manter mantém mantenha mantiveram mantendo mantido mantemos",
    "rever revejo reveja revimos revisto",
    "investir invisto invista investem investiu investimos",
    "descobrir descubra descobre descoberto descobriu",
    "sugerir sugiro sugere sugerimos sugeriu",
    "atender atendo atende atenda atendemos",
    "promoção promoções",
    "fácil fáceis facilmente",
    "rápido rápida rapidamente rapidinho",
    "barato barata baratos baratíssimo",
    "perfil perfis",
    "lençol lençóis",
    "mês meses",
    "flor flores",
    "vendedor vendedores vendedora",
    "homem homens",
)


@pytest.mark.parametrize("forms", FORMS)
def test_all_forms_of_a_word_share_a_root(forms: str) -> None:
    assert len(roots(words(forms))) == 1


@pytest.mark.parametrize(
    ("word", "other"),
    [("logo", "loja"), ("cama", "caminho"), ("nota", "noite"), ("preço", "presente"), ("caro", "carinho")],
)
def test_other_words_have_other_roots(word: str, other: str) -> None:
    assert root(fold(word)) != root(fold(other))


def test_unknown_words_are_content_words_beyond_list_and_prompt() -> None:
    vocabulary = Vocabulary("calls_to_action")
    text = words("Aproveitem: 20% de desconto em 3 bicicletas, só R$ 10! Curam a dor das costas.")
    assert vocabulary.unknown(text, frozenset(words("desconto na bicicleta"))) == ["curam", "dor", "costas"]
    assert vocabulary.unknown(text, set()) == ["desconto", "bicicletas", "curam", "dor", "costas"]
    assert vocabulary.unknown([], set()) == []


@pytest.mark.parametrize("word", ["", "a" * (LONGEST_WORD + 1), "ç", "скидка", "es", "is", "mente", "oes", "zinho"])
def test_any_word_has_a_root(word: str) -> None:
    assert isinstance(root(word), str)


def test_a_flood_of_new_words_is_not_kept() -> None:
    vocabulary = Vocabulary("calls_to_action")
    flood = [f"x{'a' * (number % 7)}{chr(97 + number % 26)}{number}" for number in range(MAX_KEPT_WORDS + 10)]
    vocabulary.unknown(flood, set())
    assert len(vocabulary._known) <= MAX_KEPT_WORDS
