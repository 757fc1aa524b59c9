import random

import polars as pl

from schemas.tables.prompts import PromptRow
from tasks.curate.fingerprint import fingerprint, words_of
from tasks.curate.leakage import near
from tests.prompt_tables import prompt_table
from tests.tasks.curate.prompt_rows import one_apart, prompt_row


def prints(*rows: PromptRow) -> pl.DataFrame:
    return fingerprint(prompt_table(rows))


def near_pairs(one: list[PromptRow], other: list[PromptRow]) -> list[tuple[int, int]]:
    first, second = prints(*one), prints(*other)
    found = near(first, words_of(first), second, words_of(second))
    return [(row, row_other) for row, row_other in found.rows()]


def test_all_is_found_that_comparing_all_pairs_finds() -> None:
    generator = random.Random(3)
    texts = sorted({tuple(generator.choices(["a", "b", "c", "d"], k=generator.randint(1, 4))) for _ in range(120)})
    rows = [prompt_row("churn", " ".join(text)) for text in texts]

    true = [(i, j) for i in range(len(rows)) for j in range(len(rows)) if one_apart(texts[i], texts[j])]
    assert near_pairs(rows, rows) == true
