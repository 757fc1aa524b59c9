from random import Random

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.curate.words import Words, with_words


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


@pytest.mark.parametrize(
    ("text", "number"),
    [("nota 4,5", "4,5"), ("nota 45", "45"), ("R$ 1.234,56", "1.234,56"), ("30%", "30%"), ("30 %", "30%")],
)
def test_numbers_keep_their_punctuation(text: str, number: str) -> None:
    assert words_in(text)[-1] == number


def test_a_prompt_without_words_is_its_own_word() -> None:
    assert words_in("!!!") == ["!!!"]
    assert words_in("???") == ["???"]


LINES = st.lists(st.text("ab 1é,", max_size=8), min_size=1, max_size=4).map("\n".join)


@given(st.lists(LINES, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_taking_rows_takes_their_words(texts: list[str], random: Random) -> None:
    def words_of(some: list[str]) -> Words:
        return Words.of(with_words(pl.DataFrame({"prompt": some})))

    words = words_of(texts)
    rows = [random.randrange(len(texts)) for _ in range(5)]
    taken, alone = words.take(np.array(rows)), words_of([texts[row] for row in rows])
    assert taken.hashes.tolist() == alone.hashes.tolist()
    assert taken.offsets.tolist() == alone.offsets.tolist()
    assert taken.line_sizes.tolist() == alone.line_sizes.tolist()
    assert len(words.line_sizes) == len(words.hashes) == words.offsets[-1]
