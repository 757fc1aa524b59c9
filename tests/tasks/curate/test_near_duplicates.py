import random

import polars as pl
import pytest

from schemas.tables.prompts import PromptRow
from tasks.curate import near_duplicates as module
from tasks.curate.leakage import near
from tasks.curate.likeness import fingerprint, words_of
from tasks.curate.near_duplicates import near_duplicates
from tasks.curate.words import with_words
from tests.prompt_tables import prompt_table
from tests.tasks.curate.prompt_rows import indexed, one_apart, prompt_row

REVIEW = (
    "Classifique a avaliação abaixo e diga se o cliente gostou: o produto chegou antes do prazo e veio bem embalado"
)
KNOWN = {"rating": 5, "fields": {"sentiment": "positive"}}


def pairs(*rows: PromptRow) -> list[tuple[int, int]]:
    return [(one, other) for one, other in near_duplicates(*indexed(list(rows))).tolist()]


def asked(text: str, **reference: object) -> PromptRow:
    return prompt_row("extraction", text, reference or KNOWN)


@pytest.mark.parametrize(
    "other",
    [
        REVIEW.replace("prazo", "dia"),
        REVIEW.replace("Classifique", "Analise"),
        REVIEW.replace("bem ", ""),
        REVIEW + " mesmo",
        "Agora " + REVIEW,
    ],
)
def test_one_word_replaced_added_or_left_out_is_found(other: str) -> None:
    assert pairs(asked(REVIEW), asked(other)) == [(0, 1)]
    assert pairs(asked(other), asked(REVIEW)) == [(0, 1)]


FORM = "Extraia os campos desta avaliação.\nNota: 5\nAvaliação: {}"
SHORT, OTHER_SHORT = "Top", "Recomendo"
LONG = "o produto chegou bem antes do prazo e veio bem embalado"


@pytest.mark.parametrize("source", ["review_id", "order_id", "customer_id"])
def test_texts_of_different_people_need_a_longer_line_to_be_alike(source: str) -> None:
    def said(text: str, who: str | None) -> PromptRow:
        return prompt_row("extraction", FORM.format(text), KNOWN, **{source: who})

    assert pairs(said(SHORT, "a"), said(OTHER_SHORT, "b")) == []
    assert pairs(said(SHORT, "a"), said(OTHER_SHORT, "a")) == [(0, 1)]
    assert pairs(said(SHORT, "a"), said(OTHER_SHORT, None)) == [(0, 1)]
    assert pairs(said(LONG, "a"), said(LONG.replace("prazo", "dia"), "b")) == [(0, 1)]
    assert pairs(said(f"{SHORT} mesmo", "a"), said(SHORT, "b")) == []


def test_the_search_finds_the_pairs_of_a_full_comparison() -> None:
    generator = random.Random(5)
    vocabulary = ["o", "a", "produto", "veio", "chegou", "bem", "mal", "cedo", "tarde", "loja"]
    vocabulary += ["entrega", "cor", "caixa", "nova"]
    start = ["Leia", "com", "calma", "a", "avaliação", "de", "um", "cliente", "da", "nossa", "loja", "e", "responda"]
    texts = {tuple(generator.choices(vocabulary, k=generator.randint(3, 5))) for _ in range(300)}
    rows = [asked(" ".join([*start, *text])) for text in sorted(texts)]
    bodies = sorted(texts)

    true = {(i, j) for j in range(len(rows)) for i in range(j) if one_apart(bodies[i], bodies[j])}
    found = set(pairs(*rows))
    assert len(true) > 50
    assert found <= true
    assert len(found) >= 0.97 * len(true)


def test_a_crowd_of_near_duplicates_is_no_quadratic_work(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [asked(f"{REVIEW} {''.join(random.Random(number).choices('abcdefghij', k=8))}") for number in range(600)]
    monkeypatch.setattr(module, "MOST_NEIGHBOURS", 40)
    found = pairs(*rows)
    assert len(found) < 600 * 200
    assert {row for pair in found for row in pair} == set(range(600))


def near_pairs(one: list[PromptRow], other: list[PromptRow]) -> list[tuple[int, int]]:
    first, second = (fingerprint(prompt_table(rows)) for rows in (one, other))
    found = near(first, words_of(first), second, words_of(second))
    return [(row, row_other) for row, row_other in found.rows()]


def test_the_exact_search_finds_all_that_comparing_all_pairs_finds() -> None:
    generator = random.Random(3)
    texts = sorted({tuple(generator.choices(["a", "b", "c", "d"], k=generator.randint(1, 4))) for _ in range(120)})
    rows = [prompt_row("churn", " ".join(text)) for text in texts]

    true = [(i, j) for i in range(len(rows)) for j in range(len(rows)) if one_apart(texts[i], texts[j])]
    assert near_pairs(rows, rows) == true


def words_in(text: str) -> list[str]:
    found: list[str] = with_words(pl.DataFrame({"prompt": [text]}))["words"][0].to_list()
    return found


@pytest.mark.parametrize(
    "text",
    [
        "Avaliação: ÓTIMO, adorei!",
        "avaliacao otimo adorei",
        "  Avaliação — “ótimo”; adorei...",
        "AVALIAÇÃO ótimo ¿adorei?",
    ],
)
def test_case_accents_and_punctuation_do_not_count(text: str) -> None:
    assert words_in(text) == ["avaliacao", "otimo", "adorei"]
