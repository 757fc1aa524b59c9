import pytest

from tasks.commerce.push.clauses import mark_breaks, tokens
from tasks.commerce.push.lines import read_campaign
from tasks.commerce.push.notation import uniform
from tasks.commerce.push.offers import amounts_among
from tasks.commerce.push.statements import CLAIMED, DENIED, LATE, UNKNOWN, grade_statements, read, speaks
from tasks.commerce.text.text_form import fold, words

PROMPT = "Crie a notificação.\nProduto: bonecas\nOferta: 20% de desconto\nPúblico: clientes da BA sem compra há 90 dias"
CAMPAIGN = read_campaign("bonecas", "20% de desconto", PROMPT)


def grade(text: str) -> float:
    spelled = uniform(tokens(fold(mark_breaks(text))))
    return grade_statements(CAMPAIGN, read(CAMPAIGN, spelled), amounts_among(spelled))


@pytest.mark.parametrize("text", [
    "Bonecas lindas com 20% de desconto: corra, aproveite já e não perca!",
    "Que saudade! Faz 90 dias, e a boneca espera pela criançada da Bahia.",
    "Brinque no seu fim de semana sem sair de casa.",
])  # fmt: skip
def test_urgency_praise_and_address_are_free(text: str) -> None:
    assert grade(text) == 1.0


@pytest.mark.parametrize("claim", [
    "só hoje", "até domingo", "com frete grátis", "e um brinde", "entrega rápida", "na primeira compra",
    "para 3 pessoas", "com garantia", "importada", "e livros também", "no PIX",
    "e 5% de cashback", "vimos você", "fiz como combinado",
])  # fmt: skip
def test_what_a_customer_could_rely_on_costs_half_or_more(claim: str) -> None:
    assert grade(f"Bonecas com 20% de desconto {claim}.") <= CLAIMED < 0.5


@pytest.mark.parametrize("denial", ["acabou", "já era", "só que não", "é mentira", "não vale", "não temos"])
def test_what_takes_the_offer_back_costs_most(denial: str) -> None:
    assert grade(f"Bonecas com 20% de desconto: {denial}.") <= DENIED < CLAIMED


@pytest.mark.parametrize("text", [
    "Sua boneca velha não aguenta mais? Bonecas com 20% de desconto!",
    "A boneca aí de casa já tá pedindo aposentadoria? Bonecas com 20% de desconto!",
    "Faz tempo que você não aparece! Bonecas com 20% de desconto.",
    "Domingo tem festa! Bonecas com 20% de desconto para a criançada toda.",
    "Dor nas costas? Bonecas com 20% de desconto.",
])  # fmt: skip
def test_before_the_offer_a_push_speaks_of_the_shoppers_day_and_things(text: str) -> None:
    assert grade(text) == 1.0


@pytest.mark.parametrize("text", [
    "Até domingo! Bonecas com 20% de desconto.",
    "Remédio natural, alivia dores! Bonecas com 20% de desconto.",
    "Entrega hoje? Sim! Bonecas com 20% de desconto.",
    "Bonecas com 20% de desconto. Neymar usa e ama!",
    "Bonecas com 20% de desconto. O mundo inteiro usa e ama!",
    "Bonecas com 20% de desconto. Fica por conta da casa!",
    "Bonecas com 20% de desconto. Leve agora e pague quando der!",
    "Bonecas com 20% de desconto. Passe o código que chegou no celular.",
    "Bonecas: com 20% você ganha desconto.",
    "Bonecas: devolva 20% e receba desconto.",
    "Ganhe bonecas com 20% de desconto.",
])  # fmt: skip
def test_claims_by_what_words_do_together_cost_half_or_more(text: str) -> None:
    assert grade(text) <= CLAIMED


def test_a_gift_is_not_the_product_that_is_bought() -> None:
    campaign = read_campaign("panelas", "brinde nas compras acima de R$ 150", "")

    def graded(text: str) -> float:
        spelled = uniform(tokens(fold(text)))
        return grade_statements(campaign, read(campaign, spelled), amounts_among(spelled))

    assert graded("Nas compras de panelas acima de R$ 150, ganhe um brinde.") == 1.0
    assert graded("Panelas de brinde nas compras acima de R$ 150.") <= CLAIMED


def test_the_offer_may_be_limited_by_its_own_units() -> None:
    campaign = read_campaign("bonecas", "20% de desconto nas últimas 50 unidades", "")
    spelled = uniform(tokens(fold("Bonecas com 20% de desconto só nas últimas 50 unidades.")))
    assert grade_statements(campaign, read(campaign, spelled), amounts_among(spelled)) == 1.0


@pytest.mark.parametrize("said", ["Chega trombeteado, mas chega!", "Paraibano é tudo mexeriqueiro."])
def test_one_rare_word_after_the_offer_costs_a_third(said: str) -> None:
    assert grade(f"Bonecas com 20% de desconto. {said}") <= LATE
    assert grade(f"{said} Bonecas com 20% de desconto.") >= UNKNOWN[2]


def test_words_that_are_merely_unknown_cost_by_steps() -> None:
    unknown = ("", "zarabatana", "quilombada", "mexeriqueira", "trombeteado", "esbugalho", "vitupério")
    grades = [grade(" ".join(["Bonecas.", *unknown[: count + 1]])) for count in range(len(unknown))]
    assert grades == [*UNKNOWN[:-1]]


def test_each_campaign_allows_its_own_words() -> None:
    wine = read_campaign("vinhos", "20% de desconto só hoje", "")
    spelled = uniform(tokens(fold("Vinhos só hoje com 20% de desconto. Saúde!")))
    assert grade_statements(wine, read(wine, spelled), {(20.0, "%")}) == 1.0
    assert grade_statements(CAMPAIGN, read(CAMPAIGN, spelled), {(20.0, "%")}) < 0.2


@pytest.mark.parametrize(("text", "spoken"), [
    ("Bonecas para a criançada!", 1.0),
    ("Que saudade! Bonecas com desconto.", 1.0),
    ("Baianos, bonecas com desconto!", 1.0),
    ("Bonecas com desconto para a sua casa! Aproveite.", 0.0),
    ("Festa, viagem, treino, jantar ou brincadeira: bonecas com desconto!", 0.0),
    ("Clientes da BA sem compra há 90 dias: bonecas!", 0.0),
])  # fmt: skip
def test_a_push_speaks_of_its_product_or_to_its_audience(text: str, spoken: float) -> None:
    assert speaks(CAMPAIGN, fold(text), read(CAMPAIGN, uniform(words(text))).noted) == spoken


def test_lines_of_the_prompt_count_where_the_reference_knows_nothing() -> None:
    unknown = read_campaign(None, None, PROMPT)
    assert grade_statements(unknown, read(unknown, ["bonecas", "=desconto"]), {(20.0, "%")}) == 1.0
    assert unknown.product == ()
