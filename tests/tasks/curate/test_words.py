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
        "AVALIAÇÃO ótimo 👍 adorei",
    ],
)
def test_case_accents_and_punctuation_do_not_count(text: str) -> None:
    assert words_in(text) == ["avaliacao", "otimo", "adorei"]


@pytest.mark.parametrize(
    ("text", "number"), [("nota 4,5", "4,5"), ("nota 45", "45"), ("R$ 1.234,56", "1.234,56"), ("30%", "30%")]
)
def test_numbers_keep_their_punctuation(text: str, number: str) -> None:
    assert words_in(text)[-1] == number


def test_a_prompt_without_words_is_its_own_word() -> None:
    assert words_in("!!!") == ["!!!"]
    assert words_in("???") == ["???"]


@given(
    st.lists(st.lists(st.text("abc", min_size=1, max_size=2), min_size=1, max_size=5), min_size=1, max_size=8),
    st.randoms(),
)
def test_taking_rows_takes_their_words(texts: list[list[str]], random: "st.Random") -> None:  # type: ignore[name-defined]
    words = Words.of(pl.Series(texts))
    rows = [random.randrange(len(texts)) for _ in range(5)]
    taken = words.take(pl.Series(rows).to_numpy())
    alone = Words.of(pl.Series([texts[row] for row in rows]))
    assert taken.hashes.tolist() == alone.hashes.tolist()
    assert taken.offsets.tolist() == alone.offsets.tolist()
