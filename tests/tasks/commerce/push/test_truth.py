"""Ground truth of pushes, claim by claim."""

import pytest

from tasks.commerce.push.campaigns import OFFERS
from tasks.commerce.push.task import TASK
from tasks.commerce.push.truth import claims_kept

PRODUCT = "tênis de corrida"


def broken(push: str, offer: str, product: str = PRODUCT, prompt: str = "") -> set[str]:
    kept = claims_kept(push, {"product": product, "offer": offer}, prompt)
    return {name for name, is_kept in kept.items() if not is_kept}


def test_every_campaigns_answer_keeps_every_claim() -> None:
    for offer in OFFERS:
        for product in ("livros técnicos", "pneus", "capas de celular"):
            reference = {"product": product, "offer": offer}
            assert broken(TASK.answer(reference), offer, product) == set(), reference


@pytest.mark.parametrize(("offer", "push"), [
    ("20% de desconto", "Bora correr? Tênis de corrida com 20% OFF!"),
    ("20% de desconto só hoje", "É hoje! Seu tênis de corrida com vinte por cento de desconto 🏃"),
    ("50% de desconto", "Tênis de corrida pela metade do preço. Vem!"),
    ("R$ 40 de desconto", "Seu próximo tênis de corrida com 40 reais a menos. Confira!"),
    ("cupom de R$ 30", "Use o cupom: R$ 30 no seu tênis de corrida."),
    ("8% de cashback", "Compre tênis de corrida e receba 8% de volta!"),
    ("frete grátis acima de R$ 99", "Tênis de corrida com entrega grátis a partir de R$ 99."),
    ("leve 3 e pague 2", "Tênis de corrida para a família: pague 2, leve 3!"),
    ("até 10x sem juros", "Tênis de corrida em até dez vezes sem juros. Aproveite!"),
    ("segunda unidade pela metade do preço",
    "No segundo par... a segunda unidade de tênis de corrida sai com 50% de desconto!"),
    ("20% de desconto neste fim de semana", "Fim de semana de tênis de corrida com 20% de desconto."),
    ("20% de desconto nas últimas 50 unidades", "Últimas 50 unidades: tênis de corrida com 20% de desconto!"),
])  # fmt: skip
def test_an_offer_in_a_shoppers_words_keeps_every_claim(offer: str, push: str) -> None:
    assert broken(push, offer) == set()


@pytest.mark.parametrize(("offer", "push", "claim"), [
    ("20% de desconto", "Tênis de corrida com 25% de desconto!", "names_offer"),
    ("20% de desconto", "Tênis de corrida com R$ 20 de desconto!", "names_offer"),
    ("20% de desconto só hoje", "Tênis de corrida com 20% de desconto!", "names_offer"),
    ("até 6x sem juros", "Tênis de corrida em até 6x com juros!", "names_offer"),
    ("leve 3 e pague 2", "Tênis de corrida: leve 2 e pague 3!", "names_offer"),
    ("20% de desconto", "Tênis de corrida sem nenhum desconto de 20%.", "names_offer"),
    ("20% de desconto", "20% de desconto em tênis de corrida! Oferta encerrada.", "names_offer"),
    ("20% de desconto", "20% de desconto em meias!", "names_product"),
    ("20% de desconto", "Tênis de corrida com 20% de desconto e frete grátis!", "nothing_added"),
    ("20% de desconto", "Tênis de corrida com 20% de desconto, só até amanhã!", "nothing_added"),
    ("20% de desconto", "Tênis de corrida com 20% de desconto no Pix!", "nothing_added"),
    ("20% de desconto", "Tênis de corrida por R$ 199, com 20% de desconto!", "nothing_added"),
    ("20% de desconto", "Tênis de corrida com 20% de desconto. Restam 7!", "nothing_added"),
    ("20% de desconto", "Tênis de corrida com 20% de desconto: www.loja.example", "nothing_added"),
    ("20% de desconto", "Prezado cliente, tênis de corrida com 20% de desconto.", "informal"),
    ("20% de desconto", "TÊNIS DE CORRIDA COM 20% DE DESCONTO!", "informal"),
    ("20% de desconto", "Your tênis de corrida with 20% de desconto, hurry!", "in_portuguese"),
    ("20% de desconto", "Oi, [nome]! Tênis de corrida com 20% de desconto.", "one_message"),
    ("20% de desconto", "1. Tênis de corrida\n2. 20% de desconto\n3. Confira!", "one_message"),
    ("20% de desconto", f"Tênis de corrida com 20% de desconto! {'Vem ver. ' * 20}", "within_length"),
])  # fmt: skip
def test_each_claim_breaks_by_itself(offer: str, push: str, claim: str) -> None:
    assert claim in broken(push, offer)


def test_what_is_said_of_the_audience_is_no_condition() -> None:
    push = "Tênis de corrida com 20% de desconto na sua primeira compra!"
    assert "nothing_added" in broken(push, "20% de desconto")
    assert broken(push, "20% de desconto", prompt="Público: novos clientes") == set()
