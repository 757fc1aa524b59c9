"""Resumable order of training prompts: a resumed run draws the same prompts as an uninterrupted one.

TRL's `RepeatSampler` has no `set_epoch`: a run resumed in a later epoch repeats the order of epoch 0. Here the order
depends on the seed and the round alone, and the position is saved with the checkpoint.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from schemas.errors import InputError
from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName

SAMPLING: Final = "sampling"
"""Name of the part of a checkpoint that has, among others, the position of a source."""
MIX: Final = "mix"  # Name of the queue of all rows; the others are named after their tasks.


class PromptSource:
    """Source of prompts in rounds, from all rows in their natural mix or from each task separately."""

    def __init__(self, rows: Sequence[PromptRow], seed: int) -> None:
        if not rows:
            raise InputError("the training set has 0 prompts; make one with `tucano synthesize` and `tucano curate`")
        self._rows = rows
        ids = "".join(f"{row.prompt_id}\n" for row in rows)
        self._identity = {"rows": len(rows), "prompts": hashlib.sha256(ids.encode()).hexdigest(), "seed": seed}
        places: dict[str, list[int]] = {MIX: list(range(len(rows)))}
        for place, row in enumerate(rows):
            places.setdefault(row.task, []).append(place)
        self._queues = {name: _Queue(name, queued, seed) for name, queued in places.items()}

    def draw(self, count: int) -> list[PromptRow]:
        """Return the next `count` rows in the natural mix, every row once before any repeats.

        No row comes twice in one call unless `count` exceeds the number of rows.
        """
        return [self._rows[place] for place in self._queues[MIX].draw(count)]

    def draw_of(self, counts: Mapping[TaskName, int]) -> list[PromptRow]:
        """Return the requested number of rows of each task, in the task order of `counts`.

        Each task has its own queue, independent of `draw`; no row comes twice in one call unless more rows of its task
        are requested than there are. InputError where a task has none.
        """
        missing = [task for task, count in counts.items() if count and task not in self._queues]
        if missing:
            raise InputError(
                f"the training set has no prompts of {', '.join(missing)}; add some, or leave the task out"
            )
        drawn = (self._queues[task].draw(count) for task, count in counts.items() if count)
        return [self._rows[place] for places in drawn for place in places]

    def state_dict(self) -> dict[str, Any]:
        """Return the position of every queue as JSON-compatible values."""
        return {**self._identity, "queues": {name: queue.state_dict() for name, queue in self._queues.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state`; InputError where it is of other rows, of another order of them, or of another seed."""
        for name, value in self._identity.items():
            if state[name] != value:
                raise InputError(
                    f"the checkpoint drew from other training prompts ({name} {state[name]}, here {value}); "
                    "resume with the dataset and seed that it was trained on, or start again with --fresh"
                )
        for name, queue in self._queues.items():
            queue.load_state_dict(state["queues"][name])


class _Queue:
    """Endless queue of row indices, reshuffled each round."""

    def __init__(self, name: str, places: Sequence[int], seed: int) -> None:
        self._name = name
        self._places = places
        self._seed = seed
        self._round = 0
        self._position = 0
        self._waiting: list[int] = []
        """Row indices of this round that were skipped, because the same call had them from the previous round."""
        self._order = self._shuffled()

    def _shuffled(self) -> list[int]:
        order = list(self._places)
        random.Random(f"{self._seed} {self._name} {self._round}").shuffle(order)
        return order

    def draw(self, count: int) -> list[int]:
        drawn: list[int] = []
        while len(drawn) < count:
            drawn += self._draw_distinct(min(count - len(drawn), len(self._places)))
        return drawn

    def _draw_distinct(self, count: int) -> list[int]:
        # Skipped rows come first: all are from one earlier call, so they are distinct.
        drawn, self._waiting = self._waiting[:count], self._waiting[count:]
        given = set(drawn)
        while len(drawn) < count:
            if self._position == len(self._order):
                self._round, self._position = self._round + 1, 0
                self._order = self._shuffled()
            place = self._order[self._position]
            self._position += 1
            if place in given:
                self._waiting.append(place)
            else:
                given.add(place)
                drawn.append(place)
        return drawn

    def state_dict(self) -> dict[str, Any]:
        return {"round": self._round, "position": self._position, "waiting": list(self._waiting)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._round, self._position, self._waiting = state["round"], state["position"], list(state["waiting"])
        self._order = self._shuffled()
