"""The library objects to each bug that was made once, and to nothing of the sound rewards."""

from functools import cache

import pytest

from schemas.tasks import TaskName
from tasks.audit.alterations.run import run_alterations
from tests.tasks.audit.alterations.bugs import HISTORIC, Bug
from tests.tasks.audit.alterations.prompts import prompts, score


def objections(task: TaskName) -> set[str]:
    probes = run_alterations(task, prompts(task), score(task))
    return {name for name, probe in probes.items() if not probe.passed}


@cache
def sound(task: TaskName) -> frozenset[str]:
    return frozenset(objections(task))


def caught_by(bug: Bug) -> set[str]:
    before = {task: sound(task) for task in bug.tasks}
    with bug.planted():
        return {name for task in bug.tasks for name in objections(task) - before[task]}


@pytest.mark.parametrize("task", ["sentiment", "sql_qa", "insights"])
def test_sound_rewards_keep_every_bound(task: TaskName) -> None:
    assert sound(task) == set()


@pytest.mark.parametrize("bug", HISTORIC, ids=lambda bug: bug.name)
def test_a_historic_bug_is_caught(bug: Bug) -> None:
    assert caught_by(bug)
