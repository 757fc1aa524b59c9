"""Lessons of the stand-in: prompts of simulated stores with an answer each, in the order in which it reads them.

Each is read once: the stores are as many as the steps ask for. Their seeds are names, which no profile can give.
"""

import random
from collections.abc import Iterator
from itertools import count, islice
from typing import NamedTuple

from schemas.tasks import TaskName
from tasks.commerce.example import Example
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS
from tasks.stand_in.demonstrations import demonstrate
from tasks.stand_in.recipe import Recipe
from tasks.synthesize.simulated import simulate_store

STORES_AT_ONCE = 6
"""Stores whose prompts are mixed: a batch of one store would know three categories."""


class Lesson(NamedTuple):
    """A conversation of one prompt and its answer."""

    task: TaskName
    system: str
    prompt: str
    answer: str


def lessons(recipe: Recipe) -> Iterator[Lesson]:
    """Yield all lessons of the training, right answers first; none twice."""
    demonstrated_from = recipe.steps * recipe.batch_size
    total = demonstrated_from + recipe.demonstrated_steps * recipe.batch_size
    generator = random.Random(f"stand-in-{recipe.seed}:faults")
    for number, example in enumerate(islice(_examples(recipe), total)):
        right = number < demonstrated_from
        task = TASKS[example.task]
        answer = task.answer(example.reference) if right else demonstrate(task, example, generator)
        yield Lesson(example.task, example.system, example.prompt, answer)


def _examples(recipe: Recipe) -> Iterator[Example]:
    seen: set[tuple[TaskName, str]] = set()
    for first in count(0, STORES_AT_ONCE):
        mixed = [
            example
            for store in range(first, first + STORES_AT_ONCE)
            for example in _of_store(recipe, f"stand-in-{recipe.seed}:{store}")
        ]
        random.Random(f"stand-in-{recipe.seed}:order:{first}").shuffle(mixed)
        for example in mixed:
            if (example.task, example.prompt) not in seen:
                seen.add((example.task, example.prompt))
                yield example


def _of_store(recipe: Recipe, name: str) -> Iterator[Example]:
    store = simulate_store(recipe.orders, random.Random(f"{name}:store"))
    for task, wanted in recipe.prompts.items():
        yield from EXAMPLE_MAKERS[task](store, random.Random(f"{name}:{task}"), wanted)
