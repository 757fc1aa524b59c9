"""Ground truth of churn: the outcome, and the reason against the profile."""

import json

import pytest

from schemas.documents import Rollout
from tasks.commerce.churn.truth import is_true, metric, read_profile

PROMPT = (
    "Este cliente vai deixar de comprar?\nEstado: SP\nPedidos: 3\nCategoria favorita: brinquedos\nTotal gasto: R$ 512\n"
    "Máximo de parcelas: 4\nDias desde a última compra: 210\nÚltima nota: 2\nNota média: 3,3\nEntregas com atraso: 1\n"
    "Pedidos não entregues: 0"
)


def reasoned(reason: object, churn: bool = True, prompt: str = PROMPT) -> dict[str, float]:
    completion = json.dumps({"risk_score": 0.9 if churn else 0.1, "churn": churn, "reasoning": reason})
    reference = {"churn": churn}
    return metric(
        [Rollout(prompt_id="p", task="churn", prompt=prompt, completion=completion, reference=reference)], None
    )


@pytest.mark.parametrize("reason", [
    "Fez três pedidos e não compra há 210 dias.", "Está há sete meses sem comprar.", "A última nota foi 2.",
    "Teve uma entrega atrasada e deu nota baixa.", "Gastou R$ 512 em brinquedos e sumiu.",
    "Tudo foi entregue, mas já são 210 dias sem comprar.",
    "Parcelou em até 4 vezes e sumiu há sete meses.", "Nota média de 3,3, com 1 atraso: não deve voltar.",
])  # fmt: skip
def test_a_reason_of_the_profiles_facts_is_true(reason: str) -> None:
    assert reasoned(reason)["reason_true"] == 1.0


@pytest.mark.parametrize("reason", [
    "Fez cinco pedidos.", "Não compra há 21 dias.", "A última nota foi 5.", "Nunca teve atraso.",
    "Comprou uma única vez.",
    "Está satisfeito com a última compra, nota máxima.", "Comprou na semana passada.", "Gastou R$ 900.",
    "Teve 3 atrasos.",
    "Não recebeu os pedidos.", "Com três pedidos, deve voltar a comprar.", "O tempo vai mudar amanhã.", "", None, 210,
    "Fez três pedidos. Nada disso é verdade.", "Três pedidos. " * 40,
])  # fmt: skip
def test_a_reason_against_the_profile_or_without_a_fact_of_it_is_not(reason: object) -> None:
    assert reasoned(reason)["reason_true"] == 0.0


LOYAL = (
    "Volta?\nPedidos: 2\nCategoria favorita: consoles e games\nTotal gasto: R$ 260\nMáximo de parcelas: 8\n"
    "Dias desde a última compra: 476\nÚltima nota: 5\nNota média: 4,5\nEntregas com atraso: 0\nPedidos não entregues: 1"
)


@pytest.mark.parametrize("reason", [
    "Um ano e quatro meses sem comprar.", "Mais de 15 meses longe da loja.",
    "Média 4,5 e nota 5 na última compra, mas 476 dias de silêncio.",
    "A nota subiu, e ainda assim 476 dias parados preocupam um pouco.",
    "Dois pedidos e nenhum atraso, mas sumiu.",
])  # fmt: skip
def test_a_figure_is_read_of_what_it_counts(reason: str) -> None:
    assert reasoned(reason, prompt=LOYAL)["reason_true"] == 1.0


@pytest.mark.parametrize("reason", [
    "Mais de dois anos sem comprar.", "Deu nota 4,5 na última compra.", "Deu nota 5 em todas as compras.",
    "A nota caiu na última compra.", "Gastou R$ 260 na última compra.", "Fez 2 pedidos nos últimos 476 dias.",
    "Esperou 476 dias pela entrega.", "Há 476 dias sem comprar, pois está endividado.",
    "O último pedido já chegou: nota 5.",
    "Há 476 dias sem comprar porque o concorrente tem preço melhor.", "Deixou de pagar 2 parcelas.",
    "Two orders and a last purchase 476 days ago, not likely to be back.",
    "Pedidos: 2, Total gasto: R$ 260, Nota média: 4,5",
])  # fmt: skip
def test_a_true_figure_of_something_else_and_what_no_profile_knows_are_not_true(reason: str) -> None:
    assert reasoned(reason, prompt=LOYAL)["reason_true"] == 0.0


SILENT = (
    "Volta?\nPedidos: 3\nCategoria favorita: brinquedos\nTotal gasto: R$ 512\nMáximo de parcelas: 10\n"
    "Dias desde a última compra: 180\nÚltima nota: 3\nNota média: 3,3\nEntregas com atraso: 2\nPedidos não entregues: 1"
)


@pytest.mark.parametrize("reason", [
    "Dos três pedidos, dois atrasaram e um não foi entregue; está há seis meses sem comprar.",
    "Um pedido que nunca chegou e dois atrasos: difícil que volte após 180 dias.",
    "Dois dos três pedidos chegaram atrasados, e já são 180 dias de silêncio.",
    "Histórico ruim: duas entregas atrasadas e nota média 3,3, por isso não deve voltar.",
])  # fmt: skip
def test_what_is_said_of_some_orders_is_read_of_them(reason: str) -> None:
    assert reasoned(reason, prompt=SILENT)["reason_true"] == 1.0


@pytest.mark.parametrize("reason", [
    "Não deve voltar porque parcelou em 10 vezes.",
    "Gastou R$ 512 em brinquedos, por isso não volta.",
    "Há 180 dias sem comprar, o que é tempo curto.", "Há 180 dias sem comprar: é um cliente mimado.",
    "Nota 3 e 180 dias; ele disse que odiou o brinquedo.", "180 dias sem comprar, mais que a maioria dos clientes.",
    "180 dias sem comprar: envie um cupom.", "Os três pedidos não chegaram, e faz 180 dias.",
    "Três dos três pedidos atrasaram, e faz 180 dias.", "Tem três pedidos e já voltou a comprar.",
    "A última compra, de R$ 512, foi há 180 dias.", "Fez três pedidos em 180 dias, com nota 3.",
])  # fmt: skip
def test_what_no_profile_shows_or_does_not_speak_for_the_answer_is_not_kept(reason: str) -> None:
    assert reasoned(reason, prompt=SILENT)["reason_true"] == 0.0


def test_a_risk_against_the_answer_contradicts_the_reason() -> None:
    fields = {"churn": True, "reasoning": "Está há seis meses sem comprar."}
    profile = read_profile(SILENT)
    assert profile is not None
    assert [is_true(fields | {"risk_score": risk}, profile) for risk in (0.9, 0.5, 0.1)] == [True, True, False]


def test_a_prompt_without_a_profile_has_no_true_reasons() -> None:
    assert reasoned("Fez três pedidos.", prompt="?") == {"accuracy": 1.0}


def test_a_constant_earns_half_of_what_is_balanced() -> None:
    completion = '{"risk_score":0.1,"churn":false,"reasoning":"x"}'
    rollouts = [
        Rollout(prompt_id=str(number), task="churn", prompt="?", completion=completion, reference={"churn": number > 8})
        for number in range(10)
    ]
    found = metric(rollouts, None)
    assert (found["accuracy"], found["balanced_accuracy"], found["auc"]) == (0.9, 0.5, 0.5)
