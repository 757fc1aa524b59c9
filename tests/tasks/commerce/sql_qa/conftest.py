"""A simulated store of SQL's tests, its copies, and questions about it: made once, since each takes a second."""

import random
from collections.abc import Sequence

import pytest

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.sql_qa import prompts
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.synthesize.simulated import simulate_store


@pytest.fixture(scope="session")
def simulated() -> Store:
    return simulate_store(1_500, random.Random(21))


@pytest.fixture(scope="session")
def copies(simulated: Store) -> Databases:
    return Databases.from_store(simulated)


@pytest.fixture(scope="session")
def examples(simulated: Store) -> Sequence[Example]:
    return list(prompts.examples(simulated, random.Random(4), 200))
