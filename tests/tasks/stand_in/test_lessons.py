"""Lessons of the stand-in: each once, right at first and imperfect at the end, of stores that no profile can name."""

import random
from collections.abc import Sequence
from functools import cache

import pytest

from schemas.documents import Rollout
from schemas.tasks import TaskName
from tasks.commerce.example import Example
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS, score_rollout
from tasks.stand_in.lessons import SHARES, Recipe, demonstrate, lessons
from tasks.synthesize.simulated import simulate_store

SMALL = Recipe(steps=24, demonstrated_steps=6, batch_size=8, orders=120, prompts=dict.fromkeys(TASKS, 12))


def test_answers_have_faults_at_the_end_alone() -> None:
    as_it_is = list(lessons(SMALL))
    right = list(lessons(SMALL.model_copy(update={"steps": 30, "demonstrated_steps": 0})))
    differ = [lesson.answer != other.answer for lesson, other in zip(as_it_is, right, strict=True)]
    first = SMALL.steps * SMALL.batch_size
    assert not any(differ[:first])
    assert 0.3 < sum(differ[first:]) / len(differ[first:]) < 0.9


@cache
def _examples(task: TaskName) -> Sequence[Example]:
    store = simulate_store(600, random.Random("demonstrations:store"))
    return list(EXAMPLE_MAKERS[task](store, random.Random(f"demonstrations:{task}"), 60))


def _shown(example: Example, generator: random.Random) -> str:
    return demonstrate(TASKS[example.task], example, generator)


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
