"""Prompt rows for the tests of curation: as little as the schema lets through."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from schemas.tables.prompts import PromptRow, content_id
from schemas.tasks import TASK_NAMES, TaskName
from tasks.curate.fingerprint import fingerprint, words_of
from tasks.curate.words import Words, bands
from tests.prompt_tables import prompt_table

THRESHOLD = 0.7


def reference_for(task: TaskName, prompt: str) -> Mapping[str, Any]:
    """Return a reference; where it identifies what is asked, no two prompts have the same."""
    references: Mapping[TaskName, Mapping[str, Any]] = {
        "extraction": {"rating": 5, "fields": {"sentiment": "positive"}},
        "sql_qa": {"sql": f"SELECT {prompt!r}"},
        "insights": {"facts": [prompt]},
        "push": {"product": prompt, "offer": "10%"},
        "sentiment": {"polarity": "positive", "score": 5},
        "churn": {"churn": False},
    }
    return references[task]


def prompt_row(
    task: TaskName, prompt: str, reference: Mapping[str, Any] | None = None, /, **origin: str | None
) -> PromptRow:
    """Return a row that fits the schema; its origin is null where not given."""
    known = reference_for(task, prompt) if reference is None else reference
    identity = content_id(task, "Responda.", prompt, known)
    sources = {"customer_id": None, "order_id": None, "review_id": None, **origin}
    return PromptRow(identity, task, "Responda.", prompt, known, "simulated", **sources)


def one_apart(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two texts differ by at most one word, that is replaced, added or left out."""
    short, long = sorted((one, other), key=len)
    if len(long) == len(short):
        return sum(a != b for a, b in zip(one, other, strict=True)) <= 1
    return len(long) == len(short) + 1 and any(long[:p] + long[p + 1 :] == short for p in range(len(long)))


def independent_rows(**counts: int) -> Iterator[PromptRow]:
    """Yield so many rows of each named task, none with a source."""
    for task in TASK_NAMES:
        for number in range(counts.get(task, 0)):
            yield prompt_row(task, f"pergunta {number}")


def indexed(rows: list[PromptRow]) -> tuple[pl.DataFrame, Words, NDArray[np.uint64]]:
    """Return what curation knows of the rows: fingerprints, words and bands."""
    index = fingerprint(prompt_table(rows))
    words = words_of(index)
    family = pl.coalesce("parent_id", "prompt_id")
    return (
        index.drop("words", "lines").with_columns(family=family, given_parent_id="parent_id"),
        words,
        bands(words, THRESHOLD),
    )
