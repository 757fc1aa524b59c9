from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.errors import InputError
from schemas.tables.parquet import ROWS_PER_GROUP
from schemas.tables.prompts import (
    PromptRow,
    content_id,
    open_prompt_table,
    read_prompt_table,
    read_prompts,
    scan_prompt_table,
)
from tests.prompt_tables import damage, prompt_table, write_prompts


def row(prompt: str = "Quantos pedidos?", **reference: Any) -> PromptRow:
    known = reference or {"sql": "SELECT 1"}
    identity = content_id("sql_qa", "Responda.", prompt, known)
    return PromptRow(identity, "sql_qa", "Responda.", prompt, known, "simulated", None, "o1", None)


@pytest.mark.parametrize("count", [0, 1, ROWS_PER_GROUP, ROWS_PER_GROUP + 1])
def test_rows_written_one_by_one_are_the_same_table(tmp_path: Path, count: int) -> None:
    rows = [replace(row(str(number)), parent_id="0" * 64 if number % 2 else None) for number in range(count)]
    for name in ("first", "second"):
        with open_prompt_table(tmp_path / name) as table:
            for each in rows:
                table.add(each)
    assert read_prompt_table(tmp_path / "first").equals(prompt_table(rows))
    assert read_prompts(tmp_path / "first") == rows
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


@pytest.mark.parametrize("part", range(4))
def test_the_identity_depends_on_every_part(part: int) -> None:
    contents: list[list[Any]] = [["push", "s", "p", {"offer": 1}], ["push", "s", "p", {"offer": 1}]]
    contents[1][part] = {"offer": 2} if part == 3 else "another"
    assert content_id(*contents[0]) != content_id(*contents[1])


def test_a_file_whose_rows_are_damaged_is_named(tmp_path: Path) -> None:
    path = damage(write_prompts([row(str(number)) for number in range(500)], tmp_path / "prompts.parquet"))
    assert scan_prompt_table(path) is not None
    with pytest.raises(InputError, match=r"prompts\.parquet cannot be read as parquet"):
        read_prompts(path)


def test_wrong_columns_are_reported_beside_the_right_ones(tmp_path: Path) -> None:
    table = prompt_table([row()]).rename({"prompt": "text"}).with_columns(pl.lit(1).alias("order_id"))
    table.write_parquet(tmp_path / "prompts.parquet")
    with pytest.raises(InputError, match=r"text String.*order_id Int32.*prompt String"):
        read_prompts(tmp_path / "prompts.parquet")
