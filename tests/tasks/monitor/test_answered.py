import json

import pytest

from schemas.tasks import TASK_NAMES
from tasks.commerce.text.text_form import refuses
from tasks.monitor.answered import is_answer

PROMPT = "Crie um push.\nProduto: vaso de cerâmica\nOferta: 20% de desconto\nPúblico: clientes novos"


@pytest.mark.parametrize(
    "text",
    [
        "Agradeço o contato, porém não disponho desses dados do pedido 4521.",
        "Por favor, envie mais detalhes.",
        "I am unable to process order 4521.",
        "Lo siento, no tengo esa información.",
        "N/A",
        "n\u200bão sei",
        "\u200b\ufeff",
        "…",
        "",
    ],
)
def test_no_answer_is_found_in_three_languages_and_behind_what_nobody_sees(text: str) -> None:
    assert not is_answer("push", PROMPT, text)


@pytest.mark.parametrize(
    "text",
    ["Não perca: vaso de cerâmica com 20% de desconto!", "Vaso de cerâmica com 20% de desconto", "Não.", "Sim"],
)
def test_a_text_that_says_something_is_an_answer_however_short(text: str) -> None:
    assert is_answer("push", PROMPT, text)


@pytest.mark.parametrize(
    "text",
    [
        "Impossível resistir: tênis com 30% de desconto só hoje!",
        "Não dá para perder: frete grátis até meia-noite.",
        "Compre sem receio: troca grátis em 30 dias.",
        "Sem desculpa para não treinar: halteres com 20% de desconto",
        "Inteligência artificial na sua casa: assistente virtual com 15% de desconto",
        "Confira mais detalhes e mais informações no app",
        "Oferta impossível de recusar: vaso com 20% de desconto",
        "Não há como errar no presente: vaso com 20% de desconto",
        "As vendas caíram 12%; houve um erro de entrega em 4% dos pedidos.",
        "Não há dados de frete para 3% dos pedidos, mas a receita subiu 8%.",
        "O cliente escreveu «não recebi o produto, não vou comprar mais» e deu nota 1.",
    ],
)
def test_what_shops_and_shoppers_say_is_an_answer(text: str) -> None:
    assert is_answer("push", PROMPT, text)
    assert is_answer("churn", "", json.dumps({"churn": True, "reasoning": text}))


def test_a_repeated_prompt_is_none_and_a_part_of_it_that_a_push_quotes_is_one() -> None:
    assert not is_answer("push", PROMPT, PROMPT)
    assert not is_answer("push", PROMPT, PROMPT.partition("\n")[2].upper())
    assert is_answer("push", PROMPT, "20% de desconto")


@pytest.mark.parametrize(
    ("fields", "answered"),
    [
        ({"polarity": "não informado", "score": 3}, False),
        ({"polarity": None, "score": None}, False),
        ({"polarity": "neutral", "score": 3}, True),
        ({"score": 3}, True),
        ({"churn": False, "reasoning": "Não há informações suficientes para 1 avaliação."}, False),
        ({"churn": False, "reasoning": "Não compra há 90 dias."}, True),
        ({"main_complaint": "", "complaint_category": "none", "delivery_issue": False}, True),
        ({"main_complaint": "não informado", "sentiment": "negative"}, True),
    ],
)
def test_values_decide_whether_json_is_an_answer(fields: dict[str, object], answered: bool) -> None:
    assert is_answer("extraction", "", json.dumps(fields)) is answered
    # Unlike the rewards, which see no refusal in an object.
    assert not refuses(json.dumps(fields, ensure_ascii=False)) or not answered


@pytest.mark.parametrize(
    ("query", "answered"),
    [("SELECT 'não sei'", False), ("SELECT NULL", False), ("SELECT COUNT(*) FROM orders", True)],
)
def test_a_query_reads_a_table(query: str, answered: bool) -> None:
    assert is_answer("sql_qa", "Quantos pedidos?", query) is answered


def test_a_hostile_text_raises_nothing() -> None:
    # The last character is 18 in its normal form.
    for text in ("{" * 50_000, '{"a": ' * 9_000, "não " * 50_000, "\u200b" * 90_000, "\ufdfa" * 90_000):
        for task in TASK_NAMES:
            is_answer(task, PROMPT, text)
