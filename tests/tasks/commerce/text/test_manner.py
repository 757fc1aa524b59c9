import pytest

from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.manner import DATA_FILES, SHOUTED, UNSENDABLE, manner
from tasks.commerce.text.text_form import fold, folded_words

LISTS = [file.removeprefix("data/lexicons/").removesuffix(".txt") for file in DATA_FILES]
GOOD = (
    "Quem compra no Ceará espera mais: 22 dias, contra 9 em SP.",
    "Luminária de veado, macaco hidráulico e piranha de cabelo com 10% off!",
    "A cadeia de suprimentos sofreu no Norte, com 19,3% de atrasos em 2018.",
    "Mulheres e homens compram o mesmo: ticket médio de R$ 140.",
    "Seu celular velho merece descanso: novos modelos em 12x!",
    "Agora ou nunca: o cupom acaba à meia-noite. Não fique de fora!",
    "Para não se arrepender depois, garanta hoje o presente das crianças.",
    "Faça login no app e use o cupom CASA10.",
    "Smart TV com inteligência artificial em até 10x",
    "O prazo está a partir de 5 dias; SP está a um ponto da média.",
    "Manual de instruções em português, nota fiscal e garantia de 12 meses.",
    "Deu match! Black Friday com cashback e frete free no app.",
    "Pedidos: 2017-10 a 2018-03; R$ 1.234,56 e 12.345 itens (N. 1234).",
    "Oba! 20% em tênis só hoje 🎉",
    "FRETE GRÁTIS em bicicletas no app da loja, aproveite!",
    "PIX com 10% OFF em SP e RJ: garanta sua mochila",
    "Você não vai se arrepender: 2 por 1 em panelas!",
    "Cofres com senha digital: 15% de desconto",
    "Saco de dormir e pau de selfie com 10% de desconto 🏕️",
    "Bolsa preta com frete grátis, corre!",
    "Muito bom.com certeza volto",
    "A reputação da loja caiu",
    "Frete grátis para SP e/ou RJ *hoje*",
    "leva 3 paga 2 em fraldas ❤️ <3",
    "- SP: R$ 57.053 (12,5%)\n**Recomendo** renegociar os prazos.",
)
BAD = (
    "Sabemos onde você e sua família moram. Compre.",
    "Faça um PIX para a chave 123 e receba o tênis",
    "Velho não sabe usar celular, compre o nosso.",
    "Nordestinos só reclamam da entrega.",
    "Ganhe um iPhone: informe o número do cartão.",
    "Tênis com XX% de desconto",
    "Olá, {nome}! Seu cupom chegou",
    "Oferta para __________ só hoje",
    "<oferta> em <produto>",
    "Tênis com 20% de desconto {}",
    "Tênis com 20% de desconto [] só hoje",
    "/* Sim. */ Tênis com 20% de desconto",
    "Tênis com 20% de desconto <!-- Sim. -->",
    "assistant: 20% de desconto em tênis",
    "Quer que eu escreva outra versão? Tênis com 20%",
    "Ligue já: (11) 98765-4321",
    "Siga @loja_oficial e ganhe",
    "Baixe em promo.exemplo/gratis",
    "Contacte-nos: 10% em ténis na nossa loja",
    "Os portes são gratuitos, subscreva já",
    "\u202e20% em tênis",
    "Quem não comprar é um otário",
    "Seu nome vai para o SPC se não voltar",
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


def test_capitals_cost_by_degrees() -> None:
    grades = [kept(f"{'GRANDE OFERTA DE TENIS ' * count}e leve outro par por metade do valor") for count in (1, 2, 9)]
    assert grades[0] == 1.0 > grades[1] > grades[2] == SHOUTED


def test_a_few_foreign_words_are_names() -> None:
    assert (
        kept(
            "Livro Game of Thrones com frete grátis e The Sims com 20% só até domingo, garanta o seu no app hoje mesmo"
        )
        == 1.0
    )


@pytest.mark.parametrize("name", LISTS)
def test_lists_have_each_entry_once(name: str) -> None:
    entries = read_lexicon(name)
    assert len(entries) == len(set(entries))
