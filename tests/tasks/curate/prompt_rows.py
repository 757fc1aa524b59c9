"""Prompt rows for the tests of curation: as little as the schema lets through."""

from collections.abc import Iterator, Mapping
from typing import Any

from schemas.prompts import PromptRow, content_id
from schemas.tasks import TASK_NAMES, TaskName

REFERENCES: Mapping[TaskName, Mapping[str, Any]] = {
    "extraction": {"rating": 5, "fields": {}},
    "sql_qa": {"sql": "SELECT 1"},
    "insights": {"facts": [1]},
    "push": {"product": "livro", "offer": "10%"},
    "sentiment": {"polarity": "positive", "score": 5},
    "churn": {"churn": False},
}


def prompt_row(task: TaskName, prompt: str, **origin: str | None) -> PromptRow:
    """Return a row that fits the schema; its origin is null where not given."""
    identity = content_id(task, "Responda.", prompt, REFERENCES[task])
    known = {"customer_id": None, "order_id": None, "review_id": None, **origin}
    return PromptRow(identity, task, "Responda.", prompt, REFERENCES[task], "simulated", **known)


def independent_rows(**counts: int) -> Iterator[PromptRow]:
    """Yield so many rows of each named task, none with a source."""
    for task in TASK_NAMES:
        for number in range(counts.get(task, 0)):
            yield prompt_row(task, f"pergunta {number}")
