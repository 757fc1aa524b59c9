"""Prompt tables made of rows, for tests."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from schemas.tables.prompts import COLUMNS, PromptRow, canonical_json, write_prompt_table


def prompt_table(rows: Iterable[PromptRow]) -> pl.DataFrame:
    """Return the rows as a prompt table, in their order."""
    records = [{**vars(row), "reference": canonical_json(row.reference)} for row in rows]
    return pl.DataFrame(records, schema=COLUMNS)


def write_prompts(rows: Iterable[PromptRow], path: Path) -> Path:
    """Write the rows as a prompt table, its folder included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_prompt_table(path, rows)
    return path


def damage(path: Path) -> Path:
    """Spoil the rows of a parquet file, and leave what its end says of them."""
    content = bytearray(path.read_bytes())
    content[4 : len(content) // 2] = bytes(len(content) // 2 - 4)
    path.write_bytes(content)
    return path
