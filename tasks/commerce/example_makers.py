"""Makers of each task's examples, apart from its reward: another prompt is no other reward."""

import random
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final, Protocol

from schemas.store.store import Store
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example import Example


class ExampleMaker(Protocol):
    """Makes the examples of a task."""

    def __call__(self, store: Store, generator: random.Random, count: int) -> Iterator[Example]:
        """Yield at most `count` examples, fewer where the store knows too little, no two with the same prompt."""
        ...


FOUND_MODULES: Final = ("tasks.commerce.*.prompts",)
EXAMPLE_MAKERS: Final[Mapping[TaskName, ExampleMaker]] = MappingProxyType(
    {name: import_module(f"tasks.commerce.{name}.prompts").examples for name in TASK_NAMES}
)
