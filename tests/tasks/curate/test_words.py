import polars as pl
import pytest

from tasks.curate.words import with_words


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


def test_a_prompt_without_words_is_its_own_word() -> None:
    assert words_in("!!!") == ["!!!"]
    assert words_in("???") == ["???"]
