import json
from collections.abc import Callable

import pytest

from tasks.audit.attack.finds import Find
from tasks.audit.attack.search import ExploitSearch
from tests.tasks.audit.attack.clean import CLEAN
from tests.tasks.audit.attack.settings import STARS_ALONE, setting


def searched(search: ExploitSearch, steps: int) -> list[Find]:
    for _ in range(steps):
        search.step()
    return search.finds


@pytest.fixture(scope="module")
def finds() -> list[Find]:
    return searched(setting("sentiment", STARS_ALONE).search(), 600)


def test_a_hole_is_found_with_its_reward_component_and_truth(finds: list[Find]) -> None:
    insult = next(find for find in finds if "alter insult_around" in find.mechanism)

    assert insult.transfer == 1
    assert insult.reward == insult.good == 1
    assert insult.corrupted
    assert insult.example.components == {"answer": 1.0}
    assert insult.example.completion.startswith(insult.example.answer)


def test_a_find_is_no_longer_than_it_must_be_and_found_once(finds: list[Find]) -> None:
    assert len({find.identity for find in finds}) == len(finds)
    insults = [find for find in finds if "alter insult_around" in find.mechanism]
    assert [len(find.mechanism) for find in insults] == [2]


def test_equal_seeds_give_equal_finds(finds: list[Find]) -> None:
    assert searched(setting("sentiment", STARS_ALONE).search(), 600) == finds


@pytest.mark.parametrize("at", [3, 250, 500])
def test_a_resumed_search_finds_what_an_uninterrupted_one_does(finds: list[Find], at: int) -> None:
    first = setting("sentiment", STARS_ALONE).search()
    searched(first, at)
    state = json.loads(json.dumps(first.state()))
    second = setting("sentiment", STARS_ALONE).search()
    second.restore(state)

    assert searched(second, 600 - at) == finds


@pytest.mark.parametrize("task", ["sentiment", "push", "churn"])
def test_nothing_is_found_in_a_clean_reward(task: str) -> None:
    search = setting(task, CLEAN[task]).search()  # type: ignore[index, arg-type]  # a task

    assert searched(search, 900) == []


def test_a_search_calls_back_with_each_find_at_once() -> None:
    search = setting("sentiment", STARS_ALONE).search()
    called: list[Find] = []
    note: Callable[[Find], None] = called.append
    for _ in range(100):
        search.step(note)

    assert called == search.finds != []
