"""The search finds what is planted, again with the same seed, and nothing where nothing is paid wrongly."""

import random
from functools import cache

import pytest

from schemas.store.store import Store
from tasks.audit.alterations.search import AttackedReward, search
from tasks.synthesize.simulated import simulate_store
from tests.tasks.audit.alterations.bugs import HISTORIC, HOLE


def over(evaluations: int) -> bool:
    return evaluations >= 2_500


@cache
def store(orders: int = 400) -> Store:
    return simulate_store(orders, random.Random(8))


def test_a_planted_hole_is_found_and_shown_with_its_text() -> None:
    with HOLE.planted():
        found = search(AttackedReward("sentiment", "grounded", store()), [], over)
    assert any("no side" in find.mechanism for find in found.finds)
    find = next(find for find in found.finds if "no side" in find.mechanism)
    assert find.reward >= 0.8 * find.good
    assert find.truth <= 0.5
    assert '"polarity":"neutral"' in find.example.completion
    assert found.best_bad > 0.5
    assert found.evaluations >= 2_500


@pytest.mark.slow
def test_a_query_that_is_right_on_one_store_alone_is_a_find() -> None:
    likeness = next(bug for bug in HISTORIC if bug.name == "sql_qa: likeness for execution")
    with likeness.planted():
        found = search(AttackedReward("sql_qa", "grounded", store(), store(200)), [], over)
    assert found.finds
