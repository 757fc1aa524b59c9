"""Drawing of the completions whose scores the audit records: `python -m benchmarks.mutants.drawing`.

They are made as those are by which mutants count, but by another seed and to other prompts, and chosen by the lines of
the sound rewards that they reach, one after the other, never by a mutant: the rarest first, until every step from one
line to the next was taken by some of them.
"""

import random
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from types import FrameType
from typing import Any, Final

from benchmarks.mutants.completions import other_completions
from schemas.documents import Rollout
from schemas.source import REPOSITORY
from schemas.store.files import read_store
from schemas.tables.rollout_tables import read_rollouts
from schemas.tasks import TASK_NAMES
from tasks.audit.probes.recorded import record
from tasks.audit.reward import RewardFunction
from tasks.audit.stage import shipped_files
from tasks.commerce.registry import score_rollout
from tasks.commerce.sql_qa.sandbox import Databases

SEED: Final = 21
POOL: Final = 8_000
"""Completions of a task from which those are chosen that are recorded; fewer of sql_qa, whose queries run."""
POOL_OF_QUERIES: Final = 1_000
EACH: Final = 4
"""Chosen completions that shall take each step, where so many do."""
MOST: Final = 500
"""Chosen completions of a task."""
REWARDS: Final = str(REPOSITORY / "tasks" / "commerce")

Step = tuple[str, int, int]
"""A file, a line, and the line that was run next in the same call."""


def draw(rollouts: Sequence[Rollout], score: RewardFunction, most: int = MOST) -> list[Rollout]:
    """Choose completions that together take each step of the rewards' code several times, if any do.

    Args:
        rollouts: The completions, in an order by chance.
        score: The sound reward.
        most: The most that are chosen.
    """
    taken = [_steps(rollout, score) for rollout in rollouts]
    known = Counter(step for steps in taken for step in steps)
    missing = {step: min(EACH, count) for step, count in known.items()}
    chosen: set[int] = set()
    # A completion is as rare as the rarest step that it takes.
    for place in sorted(range(len(rollouts)), key=lambda place: min(map(known.__getitem__, taken[place]), default=0)):
        if len(chosen) < most and any(missing[step] > 0 for step in taken[place]):
            chosen.add(place)
            for step in taken[place]:
                missing[step] -= 1
    rest = [place for place in range(len(rollouts)) if place not in chosen]
    chosen.update(rest[: most - len(chosen)])
    return [rollouts[place] for place in sorted(chosen)]


def _steps(rollout: Rollout, score: RewardFunction) -> set[Step]:
    """Return the steps that scoring a completion takes, and each grade that it gives as one more."""
    found: set[Step] = set()

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(REWARDS):
            return None
        before = frame.f_code.co_firstlineno

        def follow(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal before
            if event == "line":
                found.add((name, before, frame.f_lineno))
                before = frame.f_lineno
            return follow

        return follow

    sys.settrace(enter)
    try:
        scored = score(rollout)
    finally:
        sys.settrace(None)
    return found | {(name, -1, round(100 * value)) for name, value in scored.components.items()}


def main() -> None:
    """Draw and record the completions of every task anew."""
    files = shipped_files()
    shipped = read_rollouts(files.rollouts)
    score = partial(score_rollout, databases=Databases.from_store(read_store(files.store)))
    for task in TASK_NAMES:
        count = POOL_OF_QUERIES if task == "sql_qa" else POOL
        made = other_completions(task, shipped, SEED, count)
        random.Random(SEED).shuffle(made)
        chosen = draw(made, score)
        record(task, chosen, score)
        print(f"{task}: {len(chosen)} of {len(made)}")


if __name__ == "__main__":
    main()
