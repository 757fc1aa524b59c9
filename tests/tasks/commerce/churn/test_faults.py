"""Faults that no list of words names: each beside the honest sentence that is nearest to it."""

import pytest

from tasks.commerce.churn.reasons import grade_reason
from tests.tasks.commerce.churn.profiles import prompt_of

GONE = prompt_of("SP", 3, "pet shop", "R$ 430", 2, 234, "3", "3,7", 1, 0)
LOYAL = prompt_of("BA", 5, "brinquedos", "R$ 1.210", 4, 19, "5", "4,6", 0, 0)
WAITS = prompt_of("RJ", 2, "brinquedos", "R$ 210", 2, 12, "5", "5,0", 0, 1)
SPENDABLE, REFUSED = 0.71, 0.5


def use(prompt: str, reason: str) -> float:
    return grade_reason(reason, prompt, prompt == GONE).use


@pytest.mark.parametrize(
    ("prompt", "honest", "fault"),
    [
        # Payment.
        (GONE, "Pagou em 2 parcelas e não compra há 234 dias.", "Deixou de pagar 2 parcelas e não compra há 234 dias."),
        (GONE, "Gastou R$ 430 e está há 234 dias parado.", "Faltou o pagamento e está há 234 dias parado."),
        (GONE, "Gastou R$ 430 e está há 234 dias parado.", "Não gastou R$ 430 e está há 234 dias parado."),
        # Advice.
        (
            LOYAL,
            "Comprou há 19 dias; convém acompanhar a entrega.",
            "Comprou há 19 dias; convém atrapalhar a entrega.",
        ),
        (LOYAL, "Comprou há 19 dias; vale oferecer algo novo.", "Comprou há 19 dias; vale não oferecer mais nada."),
        (GONE, "São 234 dias parado; cabe um contato.", "São 234 dias parado; cabe encerrar o contato."),
        # Days that are none since the last purchase.
        (GONE, "Espera-se que não volte, após 234 dias parado.", "Esperou 234 dias pela entrega."),
        (GONE, "Compra parada há 234 dias.", "Costuma comprar a cada 234 dias."),
        (GONE, "A última compra foi há 234 dias.", "A última entrega demorou 234 dias."),
        (LOYAL, "Cinco pedidos, o último há 19 dias.", "Cinco pedidos nos últimos 19 dias."),
        (LOYAL, "Cinco pedidos, o último há 19 dias.", "Cinco pedidos em 19 dias."),
        # What is said of one order, or of all.
        (
            GONE,
            "Gastou R$ 430 em três compras; sumiu há 234 dias.",
            "Gastou R$ 430 na última compra; sumiu há 234 dias.",
        ),
        (GONE, "A nota média é 3,7 e sumiu há 234 dias.", "Deu nota 3,7 na última compra e sumiu há 234 dias."),
        (LOYAL, "Deu nota 5 na última compra, há 19 dias.", "Deu nota 5 em todas as compras, há 19 dias."),
        (GONE, "Um dos 3 pedidos teve atraso e sumiu há 234 dias.", "Os 3 pedidos tiveram atraso e sumiu há 234 dias."),
        # Change.
        (LOYAL, "Fez cinco pedidos e a nota subiu para 5.", "Fez cinco pedidos e o gasto subiu a cada compra."),
        (LOYAL, "A nota média é 4,6, com cinco pedidos.", "A nota caiu para 4,6, com cinco pedidos."),
        # Causes, the person, the shop and the product.
        (GONE, "Não deve voltar porque não compra há 234 dias.", "Há 234 dias sem comprar porque a loja é outra."),
        (GONE, "Teve um atraso e não compra há 234 dias.", "Escolheu outra loja e não compra há 234 dias."),
        (GONE, "Cliente parado há 234 dias.", "Cliente difícil, parado há 234 dias."),
        (GONE, "Não compra há 234 dias e a nota foi 3.", "Não compra há 234 dias e o produto veio ruim."),
        (LOYAL, "Já fez cinco pedidos e comprou há 19 dias.", "Compra toda semana e comprou há 19 dias."),
        (GONE, "Não deve voltar porque não compra há 234 dias.", "Não deve voltar porque parcelou em 2 vezes."),
        (GONE, "Não compra há 234 dias, por isso não deve voltar.", "Parcelou em 2 vezes, por isso não deve voltar."),
        (GONE, "É um cliente parado há 234 dias.", "É um sovina parado há 234 dias."),
        (GONE, "O retorno é duvidoso: 234 dias parado.", "Ele é sovina e não compra há 234 dias."),
        # Speech, motives, other customers and advice that no `convém` announces.
        (LOYAL, "Comprou há 19 dias e gostou da loja.", "Comprou há 19 dias e disse que gostou da loja."),
        (LOYAL, "Comprou há 19 dias e compra brinquedos.", "Comprou há 19 dias e torce pelo Flamengo."),
        (LOYAL, "Comprou cinco vezes, mais de uma vez.", "Comprou cinco vezes, mais que os outros clientes."),
        (GONE, "Não compra há 234 dias. Enviar um cupom.", "Não compra há 234 dias. Atrase a próxima entrega."),
        # What weighs a number.
        (GONE, "Não compra há 234 dias, um intervalo longo.", "Não compra há 234 dias, o que é tempo curto."),
        # A share of all orders.
        (WAITS, "Um dos dois pedidos chegou, há 12 dias.", "Um dos três pedidos chegou, há 12 dias."),
        (WAITS, "Só um dos dois pedidos chegou.", "Dois dos dois pedidos não chegaram."),
        # What has not arrived.
        (WAITS, "Comprou há 12 dias e deu nota 5.", "Comprou há 12 dias, recebeu e deu nota 5."),
        (
            WAITS,
            "Um pedido chegou, o outro ainda não foi entregue; compra há 12 dias.",
            "O pedido de 12 dias já chegou.",
        ),
    ],
)
def test_what_no_profile_bears_costs_and_its_honest_neighbour_does_not(prompt: str, honest: str, fault: str) -> None:
    assert use(prompt, honest) >= SPENDABLE
    assert use(prompt, fault) <= REFUSED


@pytest.mark.parametrize(
    "said",
    [
        "Cinco pedidos e nota 5: um ritmo louvável.",
        "Comprou há 19 dias, o que é alvissareiro.",
        "Comprou há 19 dias. Esse fica.",
        "Com cinco pedidos no caderninho, comprou há 19 dias.",
    ],
)
def test_an_ordinary_word_costs_little(said: str) -> None:
    assert use(LOYAL, said) >= SPENDABLE


@pytest.mark.parametrize("filler", ["Total gasto de R$ 1.210.", "O total gasto explica tudo.", "Pagou em 4 parcelas."])
def test_money_speaks_for_no_side(filler: str) -> None:
    grade = grade_reason(filler, LOYAL, leaves=False)
    assert grade.use <= 0.3
    assert grade.support == 0


def test_only_what_speaks_for_the_answer_supports_it() -> None:
    said = "Apesar dos cinco pedidos, não deve voltar."
    assert grade_reason(said, LOYAL, leaves=True).support < grade_reason("Cinco pedidos.", LOYAL, leaves=False).support
