"""What is known of a real review: nothing where its words are often misread, or contradict its stars."""

import random
from dataclasses import replace

import polars as pl
import pytest

from schemas.store.store import Store
from tasks.commerce.extraction import prompts
from tasks.commerce.extraction.real_reviews import known_by_words, known_of_review, of_stars, words_that_complain
from tasks.commerce.review_cases import review_cases
from tasks.commerce.sentiment import prompts as sentiment_prompts

LOST, CANCELLED, LATE = "produto não entregue", "pedido cancelado", "atraso na entrega"


@pytest.mark.parametrize(
    "review",
    [
        "Não recebi o produto, e já paguei",
        "Até hoje nada de chegar",
        "Ainda não me entregaram. Vou esperar.",
        "Loja boa, mas nunca recebi a encomenda",
    ],
)
def test_many_stars_say_nothing_where_nothing_arrived(review: str) -> None:
    assert of_stars(review, 5) == of_stars(review, 4) == {}
    assert of_stars(review, 3) == {"sentiment": "neutral", "sentiment_score": 3}
    assert of_stars(review, 1) == {"sentiment": "negative", "sentiment_score": 1}


@pytest.mark.parametrize(
    "review",
    [
        "Adorei, chegou antes do prazo!",
        "Não recebi em casa, tive que ir buscar nos correios, mas o produto é ótimo",
        "O pedido atrasou um pouco, mas chegou",
        "Ótima loja, quase não recebi por causa da greve",
        "",
    ],
)
def test_many_stars_are_believed_where_something_did(review: str) -> None:
    assert of_stars(review, 5) == {"sentiment": "positive", "sentiment_score": 5}
    assert of_stars(review, None) == {}


@pytest.mark.parametrize(
    ("review", "read"),
    [
        # What did not come is no part of the order.
        ("Não recebi nenhum aviso da transportadora", LOST),
        ("O produto chegou bem, porém não recebi a nota", LOST),
        ("Chegou, não tem pressa em receber a próxima", LOST),
        ("Recebi um produto usado. Também não recebi na caixa original", LOST),
        ("Não recebi o pedido todo", LOST),
        # It was fetched, or can be.
        ("Os correios não entregaram e tive que pegar na agência", LOST),
        ("Não entregam onde moro e tenho que ir buscar", LOST),
        ("Meu pedido não foi entregue, querem que eu retire nos correios", LOST),
        # A question, a wish.
        ("Preciso saber se meu pedido um dia vai chegar ou se ele por fim será cancelado?", CANCELLED),
        ("Recebi o produto de uma compra que foi cancelada", CANCELLED),
    ],
)
def test_a_complaint_that_is_often_misread_is_unknown(review: str, read: str) -> None:
    known = known_of_review(review, 1)
    assert known_by_words(review, 1).get("main_complaint") in (None, read)
    assert known.keys() <= {"sentiment", "sentiment_score"}


def test_no_prompt_is_made_of_a_review_whose_stars_its_words_contradict(real_store: Store) -> None:
    reviews = real_store.reviews.with_columns(
        review_comment_message=pl.lit("Não recebi o produto"), review_comment_title=pl.lit(""), review_score=pl.lit(5)
    )
    store = replace(real_store, reviews=reviews)
    assert all(case.known == {} for case in review_cases(store))
    assert not list(sentiment_prompts.examples(store, random.Random(1), 20))
    assert not list(prompts.examples(store, random.Random(1), 20))


@pytest.mark.parametrize(
    ("review", "complaint", "words"),
    [
        ("Adorei, tudo certo.", "", ""),
        ("Comprei em maio e até agora não recebi. Péssimo!", LOST, "até agora não recebi"),
        ("Não recebi", LOST, "Não recebi"),
        ("Preciso saber se existe um prazo para o produto", LOST, None),
        ("", LOST, None),
    ],
)
def test_the_shortest_clause_that_complains_is_found(review: str, complaint: str, words: str | None) -> None:
    assert words_that_complain(review, complaint) == words
