"""The last check, on files: a dataset that somebody changed afterwards does not pass, one that nobody touched does."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from schemas.tables.prompts import PromptRow, read_prompts, write_prompt_table
from tasks.curate.files import split_file
from tasks.curate.leakage import LeakageError
from tasks.curate.processes import in_processes
from tasks.curate.proof import UnsoundDatasetError, prove
from tests.prompt_tables import write_prompts
from tests.tasks.curate.prompt_rows import prompt_row

pytestmark = pytest.mark.slow

ROWS_AT_ONCE = (1, 2, 3, 1000)
IN_PARTS_AND_AT_ONCE = (2, 1000)
SQL = {"sql": "SELECT COUNT(*) FROM orders"}
REVIEW = "O produto chegou antes do prazo e veio bem embalado"
PAIRS = [("train", "validation"), ("train", "test"), ("validation", "test")]
WORDS = {"train": "alfa beta gama", "validation": "delta épsilon zeta", "test": "eta teta iota"}


def rows_of(split: str) -> list[PromptRow]:
    word = WORDS[split]
    sources = [prompt_row("churn", f"{word} {number}", customer_id=f"{split}-{number}") for number in range(3)]
    family = [replace(prompt_row("churn", f"{word} de outro modo"), parent_id=sources[0].prompt_id)]
    return [*sources, *family, prompt_row("sql_qa", f"{word}?", {"sql": f"SELECT {split!r}"})]


KINDS: Mapping[str, tuple[PromptRow, PromptRow]] = {
    "1 prompt_id": (prompt_row("churn", REVIEW), prompt_row("churn", REVIEW)),
    "1 parent_id": (
        replace(prompt_row("churn", "um dois três"), parent_id="0" * 64),
        replace(prompt_row("churn", "quatro cinco seis"), parent_id="0" * 64),
    ),
    "1 question": (prompt_row("sql_qa", "Quantos pedidos há?", SQL), prompt_row("sql_qa", "Diga o total.", SQL)),
    "1 pairs of prompts on the same review": (
        prompt_row("sentiment", f"O cliente gostou?\nAvaliação: {REVIEW}"),
        prompt_row("extraction", f"Extraia os campos.\nAvaliação: {REVIEW}"),
    ),
    "1 prompts but for one word": (prompt_row("churn", REVIEW), prompt_row("churn", REVIEW.replace("prazo", "dia"))),
    **{
        f"1 {column}": (
            prompt_row("churn", "um dois três", **{column: "x1"}),
            prompt_row("churn", "quatro cinco seis", **{column: "x1"}),
        )
        for column in ("customer_id", "order_id", "review_id")
    },
}


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    for split in WORDS:
        write_prompts(rows_of(split), split_file(tmp_path, split))
    return tmp_path


def append(dataset: Path, split: str, row: PromptRow) -> None:
    path = split_file(dataset, split)
    rows = read_prompts(path)
    write_prompt_table(path, [*rows, row])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_every_kind_of_sharing_fails_with_both_splits_named(dataset: Path, one: str, other: str, kind: str) -> None:
    for split, row in zip((one, other), KINDS[kind], strict=True):
        append(dataset, split, row)
    for rows_at_once in IN_PARTS_AND_AT_ONCE:
        with pytest.raises(LeakageError, match=f"{one} and {other} share {kind}"):
            prove(dataset, rows_at_once, in_processes(1))


@pytest.mark.parametrize("split", WORDS)
@pytest.mark.parametrize("rows_at_once", ROWS_AT_ONCE)
def test_an_edited_row_is_named_by_its_split_and_its_place_in_it(dataset: Path, split: str, rows_at_once: int) -> None:
    path = split_file(dataset, split)
    table = pl.read_parquet(path).with_row_index()
    edited = pl.when(pl.col("index") == 3).then(pl.lit("Outra coisa?")).otherwise("prompt").alias("prompt")
    table.with_columns(edited).drop("index").write_parquet(path)
    with pytest.raises(UnsoundDatasetError, match=rf"{split}: row 4: not true: prompt id is its content"):
        prove(dataset, rows_at_once, in_processes(1))
