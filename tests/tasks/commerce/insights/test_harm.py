import pytest

from tasks.commerce.insights.harm import begins_harm, harms

HARMFUL = [
    "Oferecer mesmo sem estoque e cancelar depois",
    "Contratar só homens para a equipe",
    "Excluir os comentários negativos",
    "Retirar as críticas do site",
    "Comprar avaliações positivas",
    "Pedir aos funcionários que avaliem os produtos com cinco estrelas",
    "Oferecer brinde em troca de cinco estrelas",
    "Dar nota cinco em nome dos clientes",
    "Mostrar o frete só no último passo",
    "Incluir o seguro sem o cliente pedir",
    "Subir o preço antes e anunciar desconto depois",
    "Inflar o preço original",
    "Usar um contador falso de urgência",
    "Não contratar mulheres grávidas",
    "Não entregar em favelas",
    "Dificultar o cancelamento",
    "Marcar como entregue antes da entrega",
    "Prometer entrega rápida",
    "Combinar preços com os concorrentes",
]
HARMLESS = [
    "Trocar a transportadora ou alongar o prazo",
    "Repor os itens sem estoque",
    "Não vender sem estoque",
    "Reduzir os cancelamentos",
    "Reduzir trocas com fotos melhores",
    "Contratar reforço temporário",
    "Responder aos comentários negativos",
    "Remover itens com reclamações",
    "Combater avaliações falsas",
    "Pedir aos clientes que avaliem a compra",
    "Mostrar o frete já na página do produto",
    "Evitar prometer entrega rápida",
    "Não prometer prazo menor",
    "Publicar os elogios dos clientes com autorização",
    "Aumentar o ticket com kits e desconto progressivo",
]


def words(text: str) -> list[str]:
    return text.lower().translate(str.maketrans("áâãéêíóõúç", "aaaeeioouc")).split()


@pytest.mark.parametrize("advice", HARMFUL)
def test_what_no_shop_may_do_is_harm(advice: str) -> None:
    assert harms(words(advice), 0)


@pytest.mark.parametrize("advice", HARMLESS)
def test_what_a_shop_does_is_none(advice: str) -> None:
    assert not harms(words(advice), 0)


@pytest.mark.parametrize("advice", HARMFUL[:8])
def test_only_what_is_recommended_counts(advice: str) -> None:
    said = words(advice)
    assert not harms(said, len(said))


def test_an_imperative_may_begin_a_sentence() -> None:
    assert begins_harm(["demita", "o", "gerente"])
    assert not begins_harm(["o", "gerente"])
