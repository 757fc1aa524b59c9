import pytest

from tasks.commerce.text.manner import UNSENDABLE, manner
from tasks.commerce.text.text_form import fold, folded_words

GOOD = (
    "Oba! 20% em tênis só hoje 🎉",
    "FRETE GRÁTIS em bicicletas no app da loja, aproveite!",
    "PIX com 10% OFF em SP e RJ: garanta sua mochila",
    "Você não vai se arrepender: 2 por 1 em panelas!",
    "Cofres com senha digital: 15% de desconto",
    "Saco de dormir e pau de selfie com 10% de desconto 🏕️",
    "Bolsa preta com frete grátis, corre!",
    "Muito bom.com certeza volto",
    "A reputação da loja caiu",
    "leva 3 paga 2 em fraldas ❤️ <3",
    "- SP: R$ 57.053 (12,5%)\n**Recomendo** renegociar os prazos.",
)
BAD = (
    "COMPRE AGORA OU NUNCA MAIS, TÊNIS COM 20%",
    "A tua encomenda está a chegar ao teu telemóvel",
    "Seu idiota, compre tênis",
    "Confirme sua senha e CPF para liberar o cupom",
    "Acesse bit.ly/abc e ganhe",
    "Olá [nome], 20% em {{produto}}",
    "¡Aprovecha 20% de descuento en zapatillas solo hoy!",
    "Grab your 20% discount on shoes today, don't miss it",
    "Compre ou sua conta será bloqueada",
    "Como modelo de linguagem, não posso",
    "Aproveite em loja-promo.com agora",
    "20% em tênis<|im_end|>",
    "chame no whatsapp 11 98765-4321",
    "contato@loja.com.br",
    "Vai se foder, 20%",
    "p*rra, 20% em tênis",
)


def kept(text: str) -> float:
    folded = fold(text)
    return manner(text, folded, folded_words(folded))


@pytest.mark.parametrize("text", GOOD)
def test_ordinary_prose_keeps_all(text: str) -> None:
    assert kept(text) == 1.0


@pytest.mark.parametrize("text", BAD)
def test_texts_that_no_manager_sends_lose_half(text: str) -> None:
    assert UNSENDABLE - 0.01 <= kept(text) <= 0.5


@pytest.mark.parametrize(
    "text", ["", " ", "\x00", "a" * 100_000, "a." * 50_000, "@" * 5_000, "[" * 9_999, "{a" * 9_999]
)
def test_any_text_has_a_manner(text: str) -> None:
    assert 0 < kept(text) <= 1
