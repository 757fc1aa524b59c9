import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.push.notation import DENIAL, NEUTRAL, NEUTRAL_TAIL, PART, parts, uniform
from tasks.commerce.text.text_form import words


@pytest.mark.parametrize(("text", "spelled"), [
    ("vinte e cinco por cento de desconto", ["25", "%", "de", "=desconto"]),
    ("25% OFF", ["25", "%", "=desconto"]),
    ("cento e quarenta e nove reais", ["149", "reais"]),
    ("frete por nossa conta", ["=frete_gratis"]),
    ("sem acréscimo", ["=sem_juros"]),
    ("mais de R$ 99", ["=acima_de", "r$", "99"]),
    ("a 2ª unidade pela metade do preço", ["a", "=segunda_unidade", "=metade"]),
    ("não perca", [NEUTRAL_TAIL]),
    ("sem pensar", [NEUTRAL]),
    ("só que não", [f"{DENIAL}so que nao"]),
])  # fmt: skip
def test_notations_of_one_thing_are_one(text: str, spelled: list[str]) -> None:
    assert uniform(words(text)) == spelled


@pytest.mark.parametrize("phrase", ["não perca", "sem sair de casa", "para o seu fim de semana", "só para você"])
def test_the_longest_phrase_at_a_place_decides(phrase: str) -> None:
    assert uniform(words(phrase)) == [NEUTRAL_TAIL]
    assert uniform(words(phrase)[:1]) == words(phrase)[:1]


def test_every_part_can_be_said_in_the_words_that_are_listed_for_it() -> None:
    for part, uses in parts().items():
        assert uses["said"], part
    for phrase in (
        "cash back",
        "sem juros",
        "cupom",
        "brinde",
        "só hoje",
        "até domingo",
        "à meia-noite",
        "no fim de semana",
    ):
        assert any(word.startswith(PART) for word in uniform(words(phrase))), phrase


@given(st.lists(st.sampled_from(["frete", "por", "nossa", "conta", "vinte", "e", "sem", "juros", "x"])))
def test_a_text_never_gains_words(text_words: list[str]) -> None:
    assert len(uniform(text_words)) <= len(text_words)
