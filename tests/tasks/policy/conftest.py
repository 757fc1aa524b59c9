"""A real, tiny policy on disk, shared by the tests that generate."""

from pathlib import Path

import pytest

from tasks.stand_in.model import StandInShape
from tests.small_base import save_base

SMALL = StandInShape(vocabulary_size=512, hidden_size=64, layers=1, heads=2, key_value_heads=1, feed_forward_size=64)


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_base(tmp_path_factory.mktemp("base"), SMALL)
