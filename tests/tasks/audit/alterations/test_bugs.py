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


@pytest.mark.parametrize("bug", HISTORIC, ids=lambda bug: bug.name)
def test_a_historic_bug_is_caught_and_the_sound_reward_is_not(bug: Bug) -> None:
    assert not any(map(sound, bug.tasks))
    with bug.planted():
        assert any(map(objections, bug.tasks))
