"""Rounds of prompts: each item in one wording after another, until there are enough or no new ones."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def distinct_prompts(
    items: Sequence[Item],
    instructions: Sequence[str],
    write: Callable[[Item, str], str],
    generator: random.Random,
    count: int,
) -> Iterator[tuple[Item, str]]:
    """Yield at most `count` items with their prompts, in random order, no two prompts the same.

    Every item comes once before any comes again, then in another wording.

    Args:
        items: Material of the prompts; read one at a time, so they may be created lazily.
        instructions: The wordings.
        write: Writes an item's prompt in a wording.
        generator: Draws the order, and with it each item's first wording.
        count: Requested prompts.
    """
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
