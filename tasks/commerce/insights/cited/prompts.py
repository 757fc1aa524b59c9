"""Prompts of insights in findings: small tables with the number of orders in each."""

import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.insights.prompts import distinct_tables
from tasks.commerce.insights.store_facts import fact_tables

DATA_FILES: Final = ("data/evidence/insights.toml",)
_FILE: Final = Path(__file__).resolve().parents[4] / DATA_FILES[0]
SYSTEM: Final[str] = tomllib.loads(_FILE.read_text(encoding="utf-8"))["system"]


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples on small tables of the store's numbers, whose references are the tables' cells."""
    for prompt, table in distinct_tables(fact_tables(store, generator, counted=True), generator, count):
        yield Example("insights", SYSTEM, prompt, {"facts": list(table.cells)})
