import random
from pathlib import Path

import polars as pl
import pytest

from schemas.config.config import CurateConfig
from schemas.config.train_sections import PolicyConfig
from schemas.progress import silent
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.curate import stage
from tasks.curate.fingerprint import fingerprint
from tasks.curate.processes import in_processes
from tasks.curate.reviews import REVIEW, QuotedReviews, review_words, same_reviews
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


def test_reviews_of_simulated_shoppers_are_split_so_that_the_proof_finds_none_twice(tmp_path: Path) -> None:
    store, output = simulate_store(700, random.Random(1)), tmp_path / "dataset"
    output.mkdir()
    rows = [
        prompt_row(
            task,
            example.prompt,
            example.reference,
            customer_id=example.customer_id,
            order_id=example.order_id,
            review_id=example.review_id,
        )
        for task in ("extraction", "sentiment")
        for example in EXAMPLE_MAKERS[task](store, random.Random(1), 300)
    ]
    quoted = prompt_table(rows)["prompt"].str.extract(REVIEW, 1)
    assert quoted.n_unique() < quoted.len()
    prompts = write_prompts(rows, tmp_path / "prompts.parquet")
    config = CurateConfig(split_seed=1, validation_per_task=4, test_per_task=12, held_out_share=0.3, workers=1)
    stage.run(config, POLICY, prompts, output, silent, in_processes(1))
    assert pl.read_parquet(output / "data" / "test.parquet").height == 24
