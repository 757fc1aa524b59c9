import random
import re
import unicodedata
from pathlib import Path

import polars as pl
import pytest

from schemas.config.config import CurateConfig
from schemas.config.train_sections import PolicyConfig
from schemas.progress import silent
from schemas.tables.prompts import PromptRow
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.curate import stage
from tasks.curate.fingerprint import fingerprint
from tasks.curate.processes import in_processes
from tasks.curate.reviews import QuotedReviews, review_words, same_reviews
from tasks.synthesize.simulated import simulate_store
from tests.prompt_tables import prompt_table, write_prompts
from tests.tasks.curate.prompt_rows import prompt_row

POLICY = PolicyConfig(stand_in=True)
LONG = "A cadeira chegou antes do prazo e é muito confortável"


def reviews_of(*prompts: str) -> QuotedReviews:
    rows = [prompt_row("sentiment", prompt, customer_id=f"c{place}") for place, prompt in enumerate(prompts)]
    table = prompt_table(rows)
    return QuotedReviews.of(fingerprint(table).with_columns(review_words(table)))


def pairs(one: str, other: str) -> list[tuple[int, int]]:
    found = same_reviews(reviews_of(one), reviews_of("Outro?\nAvaliação: nada disso", other))
    return [(int(row), int(row_other)) for row, row_other in found]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Recomendo", "RECOMENDO!!", True),
        ("Recomendo", "Recomendo muito", False),
        (LONG, LONG.replace("muito ", ""), True),
        (LONG, LONG.replace("cadeira", "mesa"), True),
        (LONG, LONG.replace("cadeira", "mesa").replace("antes", "depois"), False),
        (f"{LONG}, 5 dias", f"{LONG}, 7 dias", True),
        ("Não gostei", "Gostei", False),
    ],
)
def test_a_review_is_the_same_under_any_instruction_and_task(one: str, other: str, same: bool) -> None:
    first = f"Qual é o sentimento desta avaliação?\nAvaliação: {one}"
    second = f"Extraia os campos.\nNota: 1\nEntrega: no prazo\nAvaliação: {other}"
    assert pairs(first, second) == ([(0, 1)] if same else [])


def plainly(prompt: str) -> str:
    """The words of a prompt's review, found in another way than by the code under test."""
    plain = unicodedata.normalize("NFKD", prompt.partition("Avaliação: ")[2].lower())
    return " ".join(re.findall(r"\w+|[^\w\s!-/:-@]", "".join(c for c in plain if not unicodedata.combining(c))))


def curated(rows: list[PromptRow], folder: Path, seed: int = 0) -> dict[str, pl.DataFrame]:
    folder.mkdir()
    output = folder / "dataset"
    output.mkdir()
    write_prompts(rows, folder / "prompts.parquet")
    config = CurateConfig(split_seed=seed, validation_per_task=4, test_per_task=12, held_out_share=0.3, workers=1)
    stage.run(config, POLICY, folder / "prompts.parquet", output, silent, in_processes(1))
    return {split: pl.read_parquet(output / "data" / f"{split}.parquet") for split in ("train", "validation", "test")}


def simulated_rows(seed: int) -> list[PromptRow]:
    store = simulate_store(700, random.Random(seed))
    return [
        prompt_row(
            task,
            example.prompt,
            example.reference,
            customer_id=example.customer_id,
            order_id=example.order_id,
            review_id=example.review_id,
        )
        for task in ("extraction", "sentiment")
        for example in EXAMPLE_MAKERS[task](store, random.Random(seed), 300)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_no_review_is_in_two_splits(seed: int, tmp_path: Path) -> None:
    rows = simulated_rows(seed)
    written = [plainly(row.prompt) for row in rows]
    assert len(set(written)) < len(written)
    splits = curated(rows, tmp_path / "curated", seed)
    said = {split: set(map(plainly, table["prompt"])) for split, table in splits.items()}
    for one, other in (("train", "test"), ("train", "validation"), ("validation", "test")):
        assert said[one] & said[other] == set()
    assert splits["test"].height == 24
