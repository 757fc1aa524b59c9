"""Makers of each task's examples, apart from its reward: another prompt is no other reward."""

import random
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, Protocol

from schemas.store.store import Store
from schemas.tasks import TaskName
from tasks.commerce import (
    churn_prompts,
    extraction_prompts,
    insights_prompts,
    push_prompts,
    sentiment_prompts,
    sql_qa_prompts,
)
from tasks.commerce.example import Example


class ExampleMaker(Protocol):
    """Makes the examples of a task."""

    def __call__(self, store: Store, generator: random.Random, count: int) -> Iterator[Example]:
        """Yield at most `count` examples, fewer where the store knows too little, no two with the same prompt."""
        ...


EXAMPLE_MAKERS: Final[Mapping[TaskName, ExampleMaker]] = MappingProxyType(
    {
        "extraction": extraction_prompts.examples,
        "sql_qa": sql_qa_prompts.examples,
        "insights": insights_prompts.examples,
        "push": push_prompts.examples,
        "sentiment": sentiment_prompts.examples,
        "churn": churn_prompts.examples,
    }
)
