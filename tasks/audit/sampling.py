"""Sample of completions to score: half at random, half by strata of the reward, several of the same prompt."""

import random
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemas.documents import ScoredRollout
from schemas.errors import InputError
from schemas.progress import Progress
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.audit.sheet import as_row, audit_id, fits, write_rows
from tasks.audit.shown import shown_text, with_shown_text
from tasks.commerce.registry import scorer_on

AT_RANDOM: Final = "random"
BY_REWARD: Final = "by reward"
"""Stratum names on the sheet. The reward stratum of a completion is not revealed: raters are blind to the reward."""
OF_ONE_PROMPT: Final = 4
"""Completions of a prompt drawn together: fewer say little of the order within a prompt."""
DECILES: Final = 10


@dataclass(frozen=True)
class Sample:
    """Rows of a new sheet, and the completions left out."""

    rows: tuple[dict[str, str], ...]
    """By task; a prompt's completions are adjacent, so that it is read once."""
    drawn: dict[TaskName, int]
    too_long: int
    alone: tuple[TaskName, ...]
    """Tasks without a prompt that has two completions on the sheet: agreement within a prompt stays unknown."""


def sample(rollouts: Sequence[ScoredRollout], per_task: int, seed: int) -> Sample:
    """Draw a sheet from rollouts of the current policy; the same rollouts and seed give the same sheet.

    Of each task, one half is random, by prompts with several completions each. The other half covers every level of the
    reward: zeros, the highest rewards and each decile of the remainder take turns.
    """
    different = {audit_id(rollout): rollout for rollout in reversed(rollouts)}
    readable = {
        identity: rollout
        for identity, rollout in sorted(different.items())
        if fits(rollout.prompt) and fits(shown_text(rollout))
    }
    rows: list[dict[str, str]] = []
    drawn: dict[TaskName, int] = {}
    alone: list[TaskName] = []
    for task in TASK_NAMES:
        pool = {identity: rollout for identity, rollout in readable.items() if rollout.task == task}
        if not pool:
            continue
        generator = random.Random(f"{seed} {task}")
        at_random = _at_random(pool, (per_task + 1) // 2, generator)
        by_reward = _by_reward(pool, set(at_random), per_task - len(at_random), generator)
        strata = dict.fromkeys(at_random, AT_RANDOM) | dict.fromkeys(by_reward, BY_REWARD)
        rows += [as_row(pool[identity], strata[identity]) for identity in _in_reading_order(pool, strata, generator)]
        drawn[task] = len(strata)
        if len({pool[identity].prompt_id for identity in strata}) == len(strata):
            alone.append(task)
    return Sample(tuple(rows), drawn, len(different) - len(readable), tuple(alone))


def _at_random(pool: Mapping[str, ScoredRollout], count: int, generator: random.Random) -> list[str]:
    """Draw prompts, and some completions of each, until there are enough."""
    by_prompt: defaultdict[str, list[str]] = defaultdict(list)
    for identity, rollout in pool.items():
        by_prompt[rollout.prompt_id].append(identity)
    prompts = generator.sample(sorted(by_prompt), len(by_prompt))
    drawn: list[str] = []
    while len(drawn) < min(count, len(pool)):
        # A second round is for a task with few prompts.
        for prompt in prompts:
            size = min(OF_ONE_PROMPT, len(by_prompt[prompt]), count - len(drawn))
            taken = generator.sample(by_prompt[prompt], size)
            by_prompt[prompt] = [identity for identity in by_prompt[prompt] if identity not in taken]
            drawn += taken
    return drawn


def _by_reward(
    pool: Mapping[str, ScoredRollout], on_sheet: AbstractSet[str], count: int, generator: random.Random
) -> list[str]:
    """Take one of each stratum of the reward in turn, until there are enough."""
    left = [identity for identity in generator.sample(list(pool), len(pool)) if identity not in on_sheet]
    levels = sorted(rollout.reward for rollout in pool.values())
    strata: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for identity in left:
        reward = pool[identity].reward
        if reward == 0:
            strata["zeros", 0].append(identity)
        if reward == levels[-1]:
            strata["maxima", 0].append(identity)
        # Equal rewards belong to one decile, so that many zeros do not fill several.
        strata["decile", bisect_left(levels, reward) * DECILES // len(levels)].append(identity)
    turns = [strata[name] for name in sorted(strata)]
    chosen: dict[str, None] = {}
    while len(chosen) < min(count, len(left)):
        for stratum in turns:
            free = next((identity for identity in stratum if identity not in chosen), None)
            if free is not None and len(chosen) < count:
                chosen[free] = None
    return list(chosen)


def _in_reading_order(pool: Mapping[str, ScoredRollout], chosen: Iterable[str], generator: random.Random) -> list[str]:
    """Shuffle the prompts, and the completions of each, so that a row's position reveals nothing."""
    identities = sorted(chosen)
    shuffled = generator.sample(identities, len(identities))
    places: dict[str, int] = {}
    for identity in shuffled:
        places.setdefault(pool[identity].prompt_id, len(places))
    return sorted(shuffled, key=lambda identity: places[pool[identity].prompt_id])


def make_sheet(
    rollouts: Path, spec: SpecName, store: Path, per_task: int, seed: int, sheet: Path, progress: Progress
) -> Sample:
    """Write the sheet of some rollouts; InputError where nothing can be read or sampled, or the sheet exists."""
    from schemas.tables.rollout_tables import read_rollouts

    if sheet.exists():
        raise InputError(f"{sheet} exists and may hold scores; give the name of a new file")
    read = read_rollouts(rollouts)
    reward = scorer_on({rollout.task for rollout in read}, store, spec)
    scored = []
    for done, rollout in enumerate(read, 1):
        scored.append(reward(with_shown_text(rollout)))
        progress(done, len(read), "rollouts scored")
    drawn = sample(scored, per_task, seed)
    if not drawn.rows:
        raise InputError(f"rollouts {rollouts}: no completion is short enough for a sheet; give others")
    try:
        write_rows(sheet, drawn.rows)
    except OSError as error:
        raise InputError(
            f"sheet {sheet} cannot be written ({error.strerror}); give a file that you may write"
        ) from None
    return drawn
