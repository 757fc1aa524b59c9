import pytest

from tasks.commerce.push.clauses import mark_breaks, tokens
from tasks.commerce.push.lines import read_campaign
from tasks.commerce.push.notation import uniform
from tasks.commerce.push.offers import amounts_among
from tasks.commerce.push.statements import CLAIMED, DENIED, UNKNOWN, grade_statements, speaks
from tasks.commerce.text.text_form import fold, words

PROMPT = "Crie a notificação.\nProduto: bonecas\nOferta: 20% de desconto\nPúblico: clientes da BA sem compra há 90 dias"
CAMPAIGN = read_campaign("bonecas", "20% de desconto", PROMPT)


def grade(text: str) -> float:
    spelled = uniform(tokens(fold(mark_breaks(text))))
    return grade_statements(CAMPAIGN, spelled, amounts_among(spelled))


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


def test_words_that_are_merely_unknown_cost_by_steps() -> None:
    unknown = ("", "zarabatana", "quilombada", "mexeriqueira", "trombeteado", "esbugalho", "vitupério")
    grades = [grade(" ".join(["Bonecas.", *unknown[: count + 1]])) for count in range(len(unknown))]
    assert grades == [*UNKNOWN[:-1]]


def test_each_campaign_allows_its_own_words() -> None:
    wine = read_campaign("vinhos", "20% de desconto só hoje", "")
    spelled = uniform(tokens(fold("Vinhos só hoje com 20% de desconto. Saúde!")))
    assert grade_statements(wine, spelled, {(20.0, "%")}) == 1.0
    assert grade_statements(CAMPAIGN, spelled, {(20.0, "%")}) < 0.2


@pytest.mark.parametrize(("text", "spoken"), [
    ("Bonecas para a criançada!", 1.0),
    ("Que saudade! Bonecas com desconto.", 1.0),
    ("Baianos, bonecas com desconto!", 1.0),
    ("Bonecas com desconto para a sua casa! Aproveite.", 0.0),
    ("Festa, viagem, treino, jantar ou brincadeira: bonecas com desconto!", 0.0),
    ("Clientes da BA sem compra há 90 dias: bonecas!", 0.0),
])  # fmt: skip
def test_a_push_speaks_of_its_product_or_to_its_audience(text: str, spoken: float) -> None:
    assert speaks(CAMPAIGN, fold(text), set(uniform(words(text)))) == spoken


def test_lines_of_the_prompt_count_where_the_reference_knows_nothing() -> None:
    unknown = read_campaign(None, None, PROMPT)
    assert grade_statements(unknown, ["bonecas", "=desconto"], {(20.0, "%")}) == 1.0
    assert unknown.product == ()
