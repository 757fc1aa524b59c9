import pytest

from tasks.commerce.push.campaigns import OFFERS
from tasks.commerce.push.notation import uniform
from tasks.commerce.push.offers import FALSE_OFFER, amounts_among, grade_offer, invented_amounts, read_offer
from tasks.commerce.text.text_form import words


def grade(offer: str, text: str) -> float:
    spelled = uniform(words(text))
    return grade_offer(read_offer(offer), set(spelled), amounts_among(spelled))


@pytest.mark.parametrize("offer", OFFERS)
def test_every_offer_makes_itself(offer: str) -> None:
    assert grade(offer, offer) == 1.0


@pytest.mark.parametrize(("offer", "said"), [
    ("20% de desconto", "vinte por cento a menos"),
    ("50% de desconto", "pela metade do preço"),
    ("R$ 25 de desconto", "economize 25 reais"),
    ("5% de cashback", "5% do valor volta para você"),
    ("frete grátis", "sem pagar o frete"),
    ("frete grátis acima de R$ 99", "em compras a partir de 99 reais, o frete é por nossa conta"),
    ("leve 3 e pague 2", "três pelo preço de dois"),
    ("leve 3 e pague 2", "compre 2 e leve 3"),
    ("leve 3 e pague 2", "3 por 2"),
    ("até 10x sem juros", "sem acréscimo em dez parcelas"),
    ("segunda unidade pela metade do preço", "50% de desconto na 2ª unidade"),
    ("cupom de 18% de desconto", "18% com o cupom"),
    ("brinde nas compras acima de R$ 150", "ganhe um presente ao gastar mais de R$ 150"),
    ("20% de desconto neste fim de semana", "20% OFF no sábado e domingo"),
    ("20% de desconto até meia-noite", "desconto de 20% até a meia-noite"),
    ("20% de desconto nas últimas 50 unidades", "20% a menos: restam 50 unidades"),
])  # fmt: skip
def test_faithful_notations_are_the_offer(offer: str, said: str) -> None:
    assert grade(offer, said) == 1.0


@pytest.mark.parametrize(("offer", "said"), [
    ("20% de desconto", "R$ 20 de desconto"),
    ("20% de desconto", "30% de desconto"),
    ("20% de desconto até domingo", "20% de desconto"),
    ("20% de desconto só hoje", "20% de desconto até domingo"),
    ("frete grátis acima de R$ 99", "frete grátis"),
    ("frete grátis acima de R$ 99", "frete grátis acima de R$ 149"),
    ("leve 3 e pague 2", "leve 2 e pague 3"),
    ("segunda unidade pela metade do preço", "pela metade do preço"),
    ("20% de desconto nas últimas 50 unidades", "20% de desconto"),
    ("até 10x sem juros", "até 10x com juros"),
])  # fmt: skip
def test_a_part_that_is_false_or_dropped_makes_another_offer(offer: str, said: str) -> None:
    assert grade(offer, said) <= FALSE_OFFER


def test_an_amount_with_its_unit_is_the_offers_or_invented() -> None:
    offer = read_offer("R$ 25 de desconto")
    assert invented_amounts(offer, {(25.0, "r$")}, frozenset()) == 0
    assert invented_amounts(offer, {(25.0, "%")}, frozenset({25.0})) == 1
    assert invented_amounts(offer, {(90.0, "")}, frozenset({90.0})) == 0
    assert invented_amounts(offer, {(90.0, "")}, frozenset()) == 1


def test_an_offer_without_notations_is_its_words() -> None:
    assert grade("estreia da coleção", "a coleção estreia") == 1.0
    assert grade("estreia da coleção", "a coleção chegou") == 0.5
