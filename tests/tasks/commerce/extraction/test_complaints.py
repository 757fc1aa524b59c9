import pytest

from tasks.commerce.extraction.complaints import same_complaint
from tasks.synthesize.market import ISSUES

COMPLAINTS = sorted({issue.complaint for issue in ISSUES.values()})


@pytest.mark.parametrize("complaint", COMPLAINTS)
def test_each_complaint_is_itself_and_no_other(complaint: str) -> None:
    assert same_complaint(complaint, complaint) == 1.0
    assert [other for other in COMPLAINTS if same_complaint(complaint, other) >= 0.5] == [complaint]


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ("demora", "atraso na entrega"),
        ("pedido chegou depois do prazo", "atraso na entrega"),
        ("Chegou atrasado 5 dias", "atraso na entrega"),
        ("O PEDIDO DEMOROU MUITO", "atraso na entrega"),
        ("nunca recebi", "produto não entregue"),
        ("veio quebrada", "produto com defeito"),
        ("loja não dá retorno", "vendedor não responde"),
        ("faltou uma peça", "pedido incompleto"),
        ("não devolvem o dinheiro", "dificuldade na troca"),
        ("o site mostra outra coisa", "produto diferente do anúncio"),
        ("a entrega custou demais", "frete caro"),
        ("não vale o que custa", "preço alto"),
        ("pediu por engano", "compra errada"),
        ("chegou outra coisa", "produto errado"),
        ("sem resposta da loja", "vendedor não responde"),
        ("caixa rasgada", "embalagem ruim"),
        ("preço alto do frete", "frete caro"),
        ("comprou o tamanho errado", "compra errada"),
        ("falta de suporte da loja", "vendedor não responde"),
    ],
)
def test_other_words_for_the_same_complaint_count(found: str, wanted: str) -> None:
    assert same_complaint(found, wanted) >= 0.9


def test_naming_every_complaint_names_none() -> None:
    stuffed = "atraso, defeito, vendedor não responde, preço, embalagem, frete"
    assert same_complaint(stuffed, "atraso na entrega") < 0.25
    assert same_complaint("atraso na entrega " * 50, "atraso na entrega") == 0.0


@pytest.mark.parametrize(
    "denied", ["sem atraso na entrega", "não houve atraso na entrega", "atraso na entrega, mas isso não aconteceu"]
)
def test_a_denied_complaint_is_none(denied: str) -> None:
    assert same_complaint(denied, "atraso na entrega") == 0.0


def test_another_complaint_and_a_missing_one_earn_nothing() -> None:
    assert same_complaint("produto errado", "produto com defeito") == 0.0
    assert same_complaint("", "atraso na entrega") == same_complaint("atraso", "") == 0.0
    assert same_complaint("", "") == 1.0


def test_a_complaint_that_the_list_does_not_know_is_compared_by_its_words() -> None:
    assert same_complaint("sem nota fiscal", "nota fiscal") == 1.0
    assert same_complaint("nada a ver", "nota fiscal") == 0.0
