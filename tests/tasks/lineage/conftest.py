"""One small world for all tests of a session that leave it as it is, and copies for the others."""

import shutil
from pathlib import Path

import pytest

from tests.tasks.lineage.small_world import World, make_world


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world") / "artifacts")


@pytest.fixture
def own(world: World, tmp_path: Path) -> World:
    """A copy of the world, to be damaged."""
    return World(Path(shutil.copytree(world.root, tmp_path / "artifacts")), world.made)
