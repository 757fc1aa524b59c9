"""Makers of each task's examples, apart from its reward: another prompt is no other reward."""

import random
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

from schemas.store.store import Store
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example import Example

ExampleMaker = Callable[[Store, random.Random, int], Iterator[Example]]
"""Yields at most so many examples, fewer where the store knows too little, no two with the same prompt."""
FOUND_MODULES: Final = ("tasks.commerce.*.prompts",)
EXAMPLE_MAKERS: Final[Mapping[TaskName, ExampleMaker]] = MappingProxyType(
    {name: import_module(f"tasks.commerce.{name}.prompts").examples for name in TASK_NAMES}
)
