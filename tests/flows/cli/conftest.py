"""State folders that several commands read, each made once for the tests of a process."""

import pytest

from tests.flows.promotable import Promotable, make_promotable
from tests.tasks.lineage.small_world import MODEL, World, make_world


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("state") / "artifacts")


@pytest.fixture(scope="session")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Promotable:
    """A state folder with a good version, 1, a held one, 2, and 3 with an adapter for each of two tasks."""
    shop = make_promotable(tmp_path_factory.mktemp("made") / "state")
    for seed, (verdict, *tasks) in enumerate((["promote"], ["hold"], ["promote", "push", "churn"]), start=1):
        shop.register(shop.policy(seed, tasks), shop.evaluation(verdict, str(seed)), verdict, MODEL)
    return shop


@pytest.fixture
def shop(versions: Promotable) -> Promotable:
    """The same folder for each test, with no champion."""
    client = versions.registry._client
    for alias in versions.aliases(MODEL):
        client.delete_registered_model_alias(MODEL, alias)
    return versions
