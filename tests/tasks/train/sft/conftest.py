"""What the tests of the warm start share."""

from pathlib import Path

import pytest

from tests.tasks.train.small_warm_start import publish


@pytest.fixture
def published(tmp_path: Path) -> Path:
    return publish(tmp_path / "published")
