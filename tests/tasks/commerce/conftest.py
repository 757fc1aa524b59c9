"""A small store, its copies and a few examples of each task."""

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from schemas.store.store import Store
from schemas.tasks import TaskName
from tasks.commerce.example import Example
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.synthesize.simulated import simulate_store

ORDERS = 120
COUNT = 12


@pytest.fixture(scope="session")
def store() -> Store:
    """A simulated store: everything about it is known."""
    return simulate_store(ORDERS, random.Random(5))


@pytest.fixture(scope="session")
def real_store(store: Store) -> Store:
    """The same tables as a real store has them: nobody knows what is behind them."""
    return replace(store, review_causes=None, customer_hazards=None)


@pytest.fixture(scope="session")
def databases(store: Store) -> Databases:
    """The copies that SQL runs on."""
    return Databases.from_store(store)


@pytest.fixture(scope="session")
def examples(store: Store) -> Mapping[TaskName, list[Example]]:
    """A few examples of each task."""
    return {name: list(make(store, random.Random(1), COUNT)) for name, make in EXAMPLE_MAKERS.items()}
