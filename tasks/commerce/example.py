"""Prompt of a commerce task with its reference, and the rounds in which prompts are written."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from schemas.tasks import TaskName


@dataclass(frozen=True)
class Example:
    """A prompt, its reference, and the rows of the store that both came from."""

    task: TaskName
    system: str
    """The task's instruction to the model, the same in every example of the task."""
    prompt: str
    reference: dict[str, Any]
    """Known facts of the right answer, in the form of its task (`schemas.references`)."""
    customer_id: str | None = None
    """Olist's `customer_unique_id`: the person; never part of the prompt."""
    order_id: str | None = None
    review_id: str | None = None


Item = TypeVar("Item")


def distinct_prompts(
    items: Sequence[Item],
    instructions: Sequence[str],
    write: Callable[[Item, str], str],
    generator: random.Random,
    count: int,
) -> Iterator[tuple[Item, str]]:
    """Yield at most `count` items with different prompts, in random order: every item once before any comes again."""
    order = list(range(len(items)))
    generator.shuffle(order)
    # Hashes only: the prompts of a large store would fill the memory.
    seen: set[int] = set()
    for turn in range(len(instructions)):
        for position, place in enumerate(order):
            if len(seen) >= count:
                return
            item = items[place]
            prompt = write(item, instructions[(position + turn) % len(instructions)])
            if (key := hash(prompt)) not in seen:
                seen.add(key)
                yield item, prompt
