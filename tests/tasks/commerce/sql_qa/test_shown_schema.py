import random
import re

import pytest

from tasks.commerce.sql_qa import prompts
from tasks.commerce.sql_qa.grammar import sql_grammar
from tasks.commerce.sql_qa.sandbox import TABLES
from tasks.commerce.sql_qa.shown_schema import DISTRACTORS, needed_tables, shown_system
from tasks.commerce.text.lexicons import read_wording
from tasks.synthesize.simulated import simulate_store

WHOLE = read_wording("sql_qa").system


def tables_in(text: str) -> set[str]:
    return {table for table in TABLES if re.search(rf"\b{table}\b", text)}


@pytest.mark.parametrize(
    ("question", "tables"),
    [
        ("Quantas avaliações têm nota 5?", {"reviews"}),
        ("Qual é a nota média das avaliações de clientes de São Paulo?", {"reviews", "orders", "customers"}),
        ("Calcule o frete médio na categoria bebes.", {"items", "products"}),
        ("Quantos pagamentos do tipo credit_card passam de 100 reais?", {"payments"}),
        ("Qual é a média de price em papelaria?", {"items", "products"}),
        ("E em moveis_de_jardim_2?", {"products"}),
        ("Vendedores com produtos de nota 1", {"items", "sellers", "products", "reviews", "orders"}),
    ],
)
def test_a_questions_words_name_its_tables_and_what_joins_them(question: str, tables: set[str]) -> None:
    assert needed_tables(question) == tables


def test_every_question_of_the_bank_is_shown_the_tables_of_its_query_and_is_shorter() -> None:
    store = simulate_store(1_500, random.Random(21))
    for example in prompts.examples(store, random.Random(4), 300):
        shown = shown_system(example.prompt)
        assert tables_in(example.reference["sql"]) <= tables_in(shown), example.prompt
        assert len(shown) <= len(WHOLE)


def test_a_distractor_is_shown_and_the_rest_of_the_prompt_stays() -> None:
    shown = shown_system("Quantas avaliações têm nota 5?")
    assert len(tables_in(shown)) == 1 + DISTRACTORS
    assert shown.startswith("Responda só com uma consulta SELECT do SQLite. Tabelas: ")
    assert shown.endswith(". Arredonde valores com ROUND(x, 2).")
    assert shown == shown_system("Quantas avaliações têm nota 5?")
    assert sql_grammar(shown) != sql_grammar(WHOLE)


def test_the_whole_schema_is_shown_where_no_word_names_a_table() -> None:
    assert shown_system("Como vai?") == WHOLE
