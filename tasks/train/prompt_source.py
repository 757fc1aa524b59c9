"""Where training prompts are drawn from, so that a resumed run draws what an uninterrupted one would.

TRL's `RepeatSampler` has no `set_epoch`: a run that is resumed in a later epoch replays the order of epoch 0. Here an
order depends on the seed and the round alone, and where the drawing stands is saved with the checkpoint.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from schemas.errors import InputError
from schemas.prompts import PromptRow
from schemas.tasks import TaskName

MIX: Final = "mix"
"""The queue of all rows; the others are named like their task."""


class PromptSource:
    """Draws prompts in rounds, of all rows in their natural mix or of each task by itself."""

    def __init__(self, rows: Sequence[PromptRow], seed: int) -> None:
        """Start at the first round.

        Args:
            rows: The training set; it is not copied.
            seed: Decides, with the number of the round, the order of every queue.

        Raises:
            InputError: There are no rows.
        """
        if not rows:
            raise InputError("the training set has 0 prompts; make one with `tucano synthesize` and `tucano curate`")
        self._rows = rows
        self._identity = {"rows": len(rows), "prompts": _digest(rows), "seed": seed}
        places: dict[str, list[int]] = {MIX: list(range(len(rows)))}
        for place, row in enumerate(rows):
            places.setdefault(row.task, []).append(place)
        self._queues = {name: _Queue(name, queued, seed) for name, queued in places.items()}

    def draw(self, count: int) -> list[PromptRow]:
        """Return the next `count` rows in the natural mix, every row once before any again.

        No row comes twice in one call unless more rows are asked for than there are.
        """
        return [self._rows[place] for place in self._queues[MIX].draw(count)]

    def draw_of(self, counts: Mapping[TaskName, int]) -> list[PromptRow]:
        """Return the next rows of each task, so many as are asked for, task by task in the order of `counts`.

        Each task has its own queue, which `draw` leaves alone; no row comes twice in one call unless more rows of its
        task are asked for than there are.

        Raises:
            InputError: Prompts are asked for of a task that has none.
        """
        missing = [task for task, count in counts.items() if count and task not in self._queues]
        if missing:
            raise InputError(
                f"the training set has no prompts of {', '.join(missing)}; add some, or leave the task out"
            )
        return [
            self._rows[place] for task, count in counts.items() if count for place in self._queues[task].draw(count)
        ]

    def state_dict(self) -> dict[str, Any]:
        """Return where every queue stands, as JSON can hold it."""
        return {**self._identity, "queues": {name: queue.state_dict() for name, queue in self._queues.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from where `state` was taken.

        Raises:
            InputError: It was taken of other rows, of the same rows in another order, or with another seed.
        """
        for name, value in self._identity.items():
            if state[name] != value:
                raise InputError(
                    f"the checkpoint drew from other training prompts ({name} {state[name]}, here {value}); "
                    "resume with the dataset and seed that it was trained on, or start anew with --fresh"
                )
        for name, queue in self._queues.items():
            queue.load_state_dict(state["queues"][name])


class _Queue:
    """Some of the rows, by their places, again and again in another order."""

    def __init__(self, name: str, places: Sequence[int], seed: int) -> None:
        self._name = name
        self._places = places
        self._seed = seed
        self._round = 0
        self._position = 0
        self._waiting: list[int] = []
        """Places of this round that were passed over, as the call that reached them had them from the round before."""
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
        # Those that wait are of an earlier draw's end, so that they are distinct from each other and come first.
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


def _digest(rows: Sequence[PromptRow]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        digest.update(row.prompt_id.encode() + b"\n")
    return digest.hexdigest()
