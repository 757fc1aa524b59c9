"""The library objects to each bug that was made once, and to nothing of the sound rewards."""

import random
from functools import cache

import pytest

from schemas.config.config import AUDIT_FOLDER
from schemas.documents import Rollout
from schemas.store.files import read_store
from schemas.tasks import TaskName
from tasks.audit.alterations.run import run_alterations
from tasks.audit.reward import RewardFunction, reward_of
from tasks.commerce.example_makers import makers_of
from tests.tasks.audit.alterations.bugs import HISTORIC, PARSING, SENTIMENT, SQL, TOTALS, Bug

PROMPTS = 16


@cache
def prompts(task: TaskName) -> tuple[Rollout, ...]:
    examples = makers_of("cited")[task](read_store(AUDIT_FOLDER / "store"), random.Random(0), PROMPTS)
    known = [(each.prompt, each.reference) for each in examples]
    return tuple(
        Rollout(prompt_id=f"p{place}", task=task, prompt=prompt, completion="-", reference=reference)
        for place, (prompt, reference) in enumerate(known)
    )


@cache
def score(task: TaskName) -> RewardFunction:
    return reward_of([task], AUDIT_FOLDER / "store", "cited")


def objections(task: TaskName) -> set[str]:
    probes = run_alterations(task, "cited", prompts(task), score(task))
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


def test_historic_bugs_are_sixteen() -> None:
    assert len({bug.name for bug in HISTORIC}) == 16


@pytest.mark.parametrize("bug", HISTORIC, ids=lambda bug: bug.name)
def test_a_historic_bug_is_caught(bug: Bug) -> None:
    assert caught_by(bug)


@pytest.mark.slow
def test_bugs_of_parsing_sentiment_sql_and_totals_are_caught() -> None:
    bugs = (*PARSING, *SENTIMENT, *SQL, *TOTALS)
    caught = {bug.name: caught_by(bug) for bug in bugs}
    print(f"{sum(map(bool, caught.values()))} of {len(bugs)} bugs caught")
    assert [name for name, by in caught.items() if not by] == []
