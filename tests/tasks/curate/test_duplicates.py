from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

from schemas.tables.prompts import PromptRow
from tasks.curate.duplicates import KEPT, find_copies
from tests.tasks.curate.prompt_rows import indexed, prompt_row

REVIEW = "Leia a avaliação e devolva os dez campos: o produto chegou antes do prazo e veio bem embalado"
UNKNOWN: Mapping[str, Any] = {"rating": 5, "fields": None}
BETTER: Mapping[str, Any] = {"rating": 5, "fields": {"sentiment": "positive"}}
BEST: Mapping[str, Any] = {"rating": 5, "fields": {"sentiment": "positive", "sentiment_score": 5}}


def copies(*rows: PromptRow, held_out: tuple[int, ...] = ()) -> list[int]:
    index, words, bands = indexed(list(rows))
    index = index.with_columns(held_out=pl.Series([row in held_out for row in range(len(rows))]))
    found: list[int] = find_copies(index, words, bands).tolist()
    return found


@pytest.mark.parametrize(
    "other",
    [REVIEW.upper(), REVIEW.replace("ç", "c").replace("ã", "a"), REVIEW + "!!!", REVIEW.replace("prazo", "dia")],
)
def test_the_copy_whose_reference_knows_most_is_kept(other: str) -> None:
    assert copies(prompt_row("extraction", REVIEW, UNKNOWN), prompt_row("extraction", other, BETTER)) == [1, KEPT]
    assert copies(prompt_row("extraction", REVIEW, BEST), prompt_row("extraction", other, BETTER)) == [KEPT, 0]


def test_of_equally_good_copies_the_held_out_one_is_kept_else_the_first() -> None:
    rows = [prompt_row("extraction", text, BETTER) for text in (REVIEW, REVIEW.upper(), REVIEW.lower())]
    assert copies(*rows) == [KEPT, 0, 0]
    assert copies(*rows, held_out=(2,)) == [2, 2, KEPT]


def test_a_copy_of_a_copy_is_named_after_what_is_kept() -> None:
    rows = [
        prompt_row("extraction", REVIEW, UNKNOWN),
        prompt_row("extraction", REVIEW.upper(), UNKNOWN),
        prompt_row("extraction", REVIEW.replace("prazo", "dia"), BETTER),
    ]
    assert copies(*rows) == [2, 2, KEPT]


def test_what_is_one_word_from_a_dropped_copy_may_stay() -> None:
    texts = [REVIEW, REVIEW.replace("prazo", "dia"), REVIEW.replace("prazo", "dia").replace("bem", "mal")]
    assert copies(*(prompt_row("extraction", text, BETTER) for text in texts)) == [KEPT, 0, KEPT]
