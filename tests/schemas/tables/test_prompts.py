from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import InputError
from schemas.tables.parquet import ROWS_PER_GROUP
from schemas.tables.prompts import (
    PromptRow,
    content_id,
    read_prompt_table,
    read_prompts,
    scan_prompt_table,
    write_prompt_table,
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
        write_prompt_table(tmp_path / name, rows)
    assert read_prompt_table(tmp_path / "first").equals(prompt_table(rows))
    assert read_prompts(tmp_path / "first") == rows
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_a_file_whose_rows_are_damaged_is_named(tmp_path: Path) -> None:
    path = damage(write_prompts([row(str(number)) for number in range(500)], tmp_path / "prompts.parquet"))
    assert scan_prompt_table(path) is not None
    with pytest.raises(InputError, match=r"prompts\.parquet cannot be read as parquet"):
        read_prompts(path)
