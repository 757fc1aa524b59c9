"""Imperfect demonstrations: decided by generator and answer, faulty often, right often enough to be found."""

import random
from collections.abc import Mapping, Sequence
from functools import cache

import pytest

from schemas.documents import Rollout
from schemas.tasks import TaskName
from tasks.commerce.example import Example
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS, score_rollout
from tasks.stand_in.lessons import SHARES, demonstrate, is_careless
from tasks.synthesize.simulated import simulate_store


@cache
def _halves(task: TaskName) -> Mapping[bool, Sequence[Example]]:
    """Examples of a simulated store, those answered carefully and those answered carelessly."""
    store = simulate_store(600, random.Random("demonstrations:store"))
    halves: dict[bool, list[Example]] = {True: [], False: []}
    for example in EXAMPLE_MAKERS[task](store, random.Random(f"demonstrations:{task}"), 60):
        halves[is_careless(_right(example))].append(example)
    return halves


def _shown(example: Example, generator: random.Random) -> str:
    return demonstrate(TASKS[example.task], example, generator)


def _examples(task: TaskName) -> Sequence[Example]:
    return [example for half in _halves(task).values() for example in half]


def _right(example: Example) -> str:
    return TASKS[example.task].answer(example.reference)


@pytest.mark.parametrize("task", SHARES)
def test_faults_cost_reward(task: TaskName) -> None:
    generator = random.Random(1)

    def reward(example: Example, completion: str) -> float:
        rollout = Rollout(
            prompt_id="p", task=task, prompt=example.prompt, completion=completion, reference=dict(example.reference)
        )
        return score_rollout(rollout, None).reward

    lost = []
    for example in _examples(task):
        right = _right(example)
        shown = _shown(example, generator)
        if shown != right:
            lost.append(reward(example, right) - reward(example, shown))
    assert min(lost) >= 0
    assert sum(lost) / len(lost) > 0.3
