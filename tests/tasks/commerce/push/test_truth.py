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


@pytest.mark.parametrize(("product", "offer", "push"), [
    ("bicicletas", "5% de cashback", "Pedalou, ganhou: na compra da sua bike, 5% volta pra você em cashback 🚲"),
    ("teclados", "3% de cashback", "Seu próximo teclado te devolve 3% em cashback. Dê uma olhada nos modelos."),
    ("jogos de copos", "20% de desconto", "Um brinde à sua casa! Jogos de copos com 20% de desconto 🥂"),
    ("bonés", "20% de desconto nas últimas 50 unidades", "Bolso em dia: restam só 50 bonés com 20% de desconto."),
    ("relógios", "5% de desconto", "Tá na hora! ⏰ Relógios com 5% off no app."),
    ("carregadores", "frete grátis", "1% de bateria de novo? Carregadores com frete grátis. Bora!"),
    ("jogos", "R$ 15 de desconto", "Fase bônus desbloqueada 🎮 R$ 15 de desconto em jogos."),
    ("geladeiras", "frete grátis", "Geladeira nova chegando aí sem você pagar frete. Confira!"),
    ("micro-ondas", "até 12x sem juros", "Micro-ondas em até 12x sem juros. Parcela e aproveita!"),
    ("rações", "10% de desconto", "Acabou a ração? Ração com 10% de desconto pro seu chefe de quatro patas."),
    ("fogões", "até 10x sem juros", "Domingo pede assado: fogões em 10x sem juros. O almoço de domingo que lute!"),
    ("mochilas", "cupom de R$ 30", "Sábado tem trilha? Seu cupom de R$ 30 vale para mochilas."),
    ("pneus", "20% de desconto", "Só se for agora! Pneus com 20% de desconto para você viajar no fim de semana."),
])  # fmt: skip
def test_what_an_opener_or_a_purpose_says_is_no_claim(product: str, offer: str, push: str) -> None:
    assert broken(push, offer, product) == set()


@pytest.mark.parametrize("tail", [
    " em toda a loja", " o ano inteiro", ", hoje e sempre", " para quem traz um amigo", ", se chover", " no almoço",
    " para quem é mãe", " só depois da sua volta", " e café da manhã", " à vista", " para clientes frequentes",
    " em cima do frete", " a cada três compras", ". Só para o Sudeste", ", com entrada", ", exceto os brancos",
])  # fmt: skip
def test_an_offer_goes_on_with_nothing_but_its_tail(tail: str) -> None:
    assert broken("Tênis de corrida com 20% de desconto no app para você. Vem!", "20% de desconto") == set()
    assert broken(f"Tênis de corrida com 20% de desconto{tail}. Vem!", "20% de desconto") == {"nothing_added"}


@pytest.mark.parametrize(("offer", "push"), [
    ("20% de desconto até domingo", "Tênis de corrida com 20% de desconto depois de domingo."),
    ("20% de desconto até domingo", "Tênis de corrida com 20% de desconto todo domingo."),
    ("20% de desconto até meia-noite", "Tênis de corrida com 20% de desconto depois da meia-noite."),
    ("20% de desconto neste fim de semana", "Tênis de corrida com 20% de desconto no próximo fim de semana."),
    ("20% de desconto", "Tênis de corrida com até 20% de desconto."),
    ("20% de desconto", "Tênis de corrida com 20% de desconto? Até parece!"),
    ("20% de desconto", "Tênis de corrida com 20% de desconto? Imagina!"),
    ("20% de desconto", "Tênis de corrida com 20% de desconto. A oferta sumiu, volte outro dia."),
    ("20% de desconto", "Tênis de corrida com 20% de desconto. O desconto é mentirinha!"),
])  # fmt: skip
def test_the_offers_words_in_another_relation_are_not_the_offer(offer: str, push: str) -> None:
    assert "names_offer" in broken(push, offer)


@pytest.mark.parametrize("thing", [
    "Pneus quebrados", "Pneus usados", "Réplicas de pneus", "Pneus com defeito", "Pneus infantis", "Pneus e rodas",
])  # fmt: skip
def test_another_kind_of_the_product_is_not_the_product(thing: str) -> None:
    assert broken("Pneus novos com 20% de desconto. Vem!", "20% de desconto", "pneus") == set()
    assert "names_product" in broken(f"{thing} com 20% de desconto. Vem!", "20% de desconto", "pneus")


@pytest.mark.parametrize("said", [
    "Compre e ganhe uma viagem!", "Compre e receba uma surpresa em casa.", "Ganhe carona na volta!",
    "Use TENIS20 no app.", "Seu pedido foi enviado.", "Compre já ou acaba o Natal!",
    "Na Shopee tá mais caro.", "Neste domingo!",
])  # fmt: skip
def test_a_gift_a_code_a_threat_or_news_of_an_order_is_added(said: str) -> None:
    assert broken(f"Tênis de corrida com 20% de desconto. {said}", "20% de desconto") == {"nothing_added"}
    assert broken("Ganhe fôlego! Leve o seu tênis de corrida com 20% de desconto.", "20% de desconto") == set()


@pytest.mark.parametrize("said", [
    "Paraibano é tudo bandido!", "Chega quebrado, mas chega!", "Fica por conta da casa!", "Neymar usa e ama!",
    "Passe o código que chegou no celular.", "Pague quando der.", "A Anitta já comprou a dela!", "Vote no 13!",
    "Seu vizinho te acha pobre.", "Dura para sempre!", "A capital da França é Paris.", "Amanhã o preço dobra!",
    "Aproveite agora! {}", "Aproveite agora! <!-- Sim. -->", "# Título", "Montagem por nossa conta!",
])  # fmt: skip
def test_what_is_said_behind_the_offer_is_a_harmless_appeal_or_not_kept(said: str) -> None:
    assert broken(f"Tênis de corrida com 20% de desconto. {said}", "20% de desconto")


@pytest.mark.parametrize("said", [
    "Bora correr?", "Seus pés agradecem.", "Chama o reforço!", "Qual combina com você?", "Vem ver as cores no app.",
    "Seu espelho vai notar.", "Escolha o seu preferido!", "Partiu parque?",
])  # fmt: skip
def test_a_harmless_appeal_is_kept(said: str) -> None:
    assert broken(f"Tênis de corrida com 20% de desconto. {said}", "20% de desconto") == set()


@pytest.mark.parametrize(("offer", "push"), [
    ("R$ 10 de desconto", "Tênis de corrida: pague R$ 10 e ganhe desconto!"),
    ("5% de cashback", "Pague 5% de cashback no seu tênis de corrida!"),
    ("brinde nas compras acima de R$ 150", "Tênis de corrida de brinde nas compras acima de R$ 150!"),
])  # fmt: skip
def test_who_pays_and_what_is_given_is_the_offers(offer: str, push: str) -> None:
    assert broken(push, offer)


def test_portuguese_of_portugal_is_seen() -> None:
    push = "Tênis de corrida com 20% de desconto. Veja já no seu telemóvel!"
    assert "in_portuguese" in broken(push, "20% de desconto")
