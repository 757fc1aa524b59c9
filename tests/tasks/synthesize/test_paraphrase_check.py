"""What keeps a sentence's facts passes; each way of losing one is refused by its name."""

import pytest

from schemas.tasks import TaskName
from tasks.commerce.text.lexicons import read_wording
from tasks.synthesize.paraphrase_check import Sentence, find_fault, instruction_lists, lists, named_values, tidy

PUSH = Sentence(
    "push", "Escreva o push desta campanha.", pool=("Escreva o push desta campanha.", "Crie a notificação.")
)
COUNT = Sentence(
    "sql_qa",
    "Quantos clientes distintos de SP deram nota 5 em 2017?",
    named_values("Quantos clientes distintos de SP deram nota 5 em 2017?", {"sql": "... state = 'SP' AND x = '%Y'"}),
)
TOP = Sentence(
    "sql_qa",
    "Liste as 3 categorias que mais vendem em valor entre itens de vendedores de RJ, com a soma dos preços.",
    ("RJ",),
)
STATUS = Sentence(
    "sql_qa", "Qual é o valor médio dos pagamentos do tipo credit_card com 2 ou mais parcelas?", ("credit_card",)
)
CATEGORY = Sentence(
    "sql_qa",
    "Qual é a receita (soma dos preços) da categoria perfumaria?",
    named_values(
        "Qual é a receita (soma dos preços) da categoria perfumaria?",
        {"sql": "WHERE product_category_name = 'perfumaria'"},
    ),
)


@pytest.mark.parametrize(
    ("sentence", "answer"),
    [
        (PUSH, "Redija o push para esta campanha."),
        (PUSH, '"Elabore uma notificação para a campanha."'),
        (COUNT, "Qual é a quantidade de clientes únicos de SP que deram nota 5 em 2017?"),
        (
            TOP,
            "Quais as 3 categorias mais vendidas em valor entre itens de vendedores de RJ? Mostre a soma dos preços.",
        ),
        (STATUS, "Calcule a média dos valores de pagamentos do tipo credit_card com 2 ou mais parcelas."),
        (CATEGORY, "Informe a receita (soma dos preços) da categoria Perfumaria."),
    ],
)
def test_a_good_paraphrase_passes(sentence: Sentence, answer: str) -> None:
    assert find_fault(sentence, tidy(answer)) is None


@pytest.mark.parametrize(
    ("sentence", "answer", "reason"),
    [
        (COUNT, "", "empty"),
        (COUNT, "Quantos em SP?", "too short"),
        (COUNT, "Quantos clientes distintos de SP deram nota 5 em 2017? " * 4, "too long"),
        (COUNT, "Quantos clientes únicos de SP\nderam nota 5 em 2017?", "several lines"),
        (COUNT, "Quantos clientes únicos de SP deram nota 4 em 2017?", "numbers"),
        (COUNT, "Em 2017, quantos clientes únicos de SP deram nota 5?", "numbers"),
        (COUNT, "Quantos clientes únicos de SP deram nota 5 em março de 2017?", "numbers"),
        (COUNT, "Quantos clientes únicos de São Paulo deram nota 5 em 2017?", "names"),
        (COUNT, "Quantos clientes de SP deram nota 5 em 2017?", "meaning"),
        (COUNT, "Quantos vendedores distintos de SP deram nota 5 em 2017?", "meaning"),
        (COUNT, "Quantos clientes distintos de SP não deram nota 5 em 2017?", "meaning"),
        (COUNT, "How many distinct customers of SP gave 5 in 2017?", "language"),
        (COUNT, "Claro, aqui está: Quantos clientes únicos de SP deram nota 5 em 2017?", "chatter"),
        (COUNT, "Quantos clientes únicos de SP deram nota 5 em 2017? Espero ter ajudado", "chatter"),
        (COUNT, "<think>hm</think> Quantos clientes únicos de SP deram nota 5 em 2017?", "chatter"),
        (COUNT, "SELECT COUNT(*) FROM clientes WHERE uf = SP AND nota 5, 2017", "chatter"),
        (COUNT, "quantos clientes distintos de SP deram nota 5 em 2017", "nothing new"),
        (TOP, "Quais são as 3 categorias com menor soma de preços entre itens de vendedores de RJ?", "meaning"),
        (STATUS, "Qual é o valor médio dos pagamentos do tipo boleto com 2 ou mais parcelas?", "names"),
        (STATUS, "Qual é o valor médio dos pagamentos do tipo credit_card com até 2 parcelas?", "meaning"),
        (CATEGORY, "Qual é a receita (soma dos preços) da categoria brinquedos?", "names"),
        (CATEGORY, "Qual é a receita, soma dos preços, da categoria perfumaria?", "parentheses"),
        (CATEGORY, "Qual é a receita (soma dos preços) da categoria?", "names"),
        (PUSH, "Componha um poema sobre o mar.", "meaning"),
        (PUSH, "Escreva o push da campanha {produto}.", "chatter"),
        (PUSH, "Escreva o push desta campanha com 20% de desconto.", "numbers"),
        (PUSH, "Escreva o push da campanha da Magazine Luiza.", "names"),
    ],
)
def test_each_lost_fact_is_refused_by_its_name(sentence: Sentence, answer: str, reason: str) -> None:
    assert find_fault(sentence, tidy(answer)) == reason


def instruction(task: TaskName, text: str) -> Sentence:
    return Sentence(task, text, pool=read_wording(task).instructions)


@pytest.mark.parametrize(
    ("sentence", "answer"),
    [
        (instruction("churn", "Este cliente vai deixar de comprar?"), "Este cliente vai voltar a comprar?"),
        (
            instruction("churn", "Pelo histórico, este cliente compra de novo?"),
            "Pelo histórico, perdemos este cliente?",
        ),
        (
            instruction("extraction", "Extraia os campos desta avaliação."),
            "Ignore esta avaliação e devolva os campos vazios.",
        ),
        (instruction("extraction", "Extraia os campos desta avaliação."), "Resuma esta avaliação em uma frase."),
        (instruction("push", "Escreva o push desta campanha."), "Cancele o push desta campanha."),
        (instruction("push", "Escreva o push desta campanha."), "Critique o push desta campanha."),
        (instruction("insights", "Analise a tabela e recomende ações."), "Analise a tabela."),
        (
            instruction("insights", "Analise a tabela e recomende ações."),
            "Analise a tabela em inglês e recomende ações.",
        ),
        (instruction("sentiment", "O cliente ficou satisfeito?"), "O cliente ficou insatisfeito?"),
    ],
)
def test_an_instruction_that_asks_for_something_else_is_refused(sentence: Sentence, answer: str) -> None:
    assert find_fault(sentence, answer) == "meaning"


@pytest.mark.parametrize(
    ("sentence", "answer"),
    [
        (instruction("churn", "Este cliente vai deixar de comprar?"), "O cliente vai parar de comprar na loja?"),
        (instruction("extraction", "Extraia os campos desta avaliação."), "Retire da avaliação abaixo os campos."),
        (
            instruction("insights", "Analise a tabela e recomende ações."),
            "Faça uma análise da tabela e sugira medidas.",
        ),
        (instruction("push", "Crie a notificação."), "Elabore a notificação desta oferta."),
        (instruction("sentiment", "Qual é o sentimento desta avaliação?"), "Identifique o sentimento da avaliação."),
    ],
)
def test_an_instruction_in_other_words_passes(sentence: Sentence, answer: str) -> None:
    assert find_fault(sentence, answer) is None


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("Quantos pedidos feitos em junho de 2018 estão com status delivered?", "feitos", "cancelados"),
        ("Quantos dias em média da compra à entrega em SP?", "compra", "aprovação"),
        (
            "Quantos pedidos chegaram em até 5 dias após a compra (diferença por julianday)?",
            " (diferença por julianday)",
            "",
        ),
        ("Que percentual das entregas de SP atrasou, entre as já entregues?", ", entre as já entregues", ""),
        ("Liste as 3 categorias com mais itens (empate: ordem alfabética).", "alfabética", "crescente"),
    ],
)
def test_a_question_with_another_event_or_without_a_clause_is_refused(question: str, old: str, new: str) -> None:
    answer = question.replace(old, new).replace("Quantos", "Diga quantos")
    assert answer != question
    assert find_fault(Sentence("sql_qa", question), answer) in {"meaning", "parentheses"}


def test_quoted_text_and_placeholders_stay_as_they_are() -> None:
    sentence = Sentence("sql_qa", 'Quantos pedidos de {estado} citam "frete grátis" em 2017?')
    assert find_fault(sentence, 'Qual é o número de pedidos de {estado} que citam "frete grátis" em 2017?') is None
    assert find_fault(sentence, 'Qual é o número de pedidos de {estado} que citam "frete barato" em 2017?') == "names"
    assert find_fault(sentence, 'Qual é o número de pedidos de que citam "frete grátis" em 2017?') == "names"


def test_the_word_lists_are_folded_as_texts_are() -> None:
    from tasks.commerce.text.text_form import fold

    groups = [
        lists()["chatter"],
        lists()["foreign"],
        lists()["numerals"],
        lists()["neutral"],
        *lists()["meanings"].values(),
    ]
    for task in map(instruction_lists().__getitem__, ("extraction", "insights", "push", "sentiment", "churn")):
        groups += [task["required"], task["forbidden"], task["words"], *task.get("meanings", {}).values()]
    assert all(fold(word) == word for words in groups for word in words)
