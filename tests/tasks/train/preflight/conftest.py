"""What the tests of the preflight share."""

from typing import Any

import pytest

from tests.tasks.train.small_training import tiny_policy


@pytest.fixture
def tokenizer() -> Any:
    """Return a tokenizer that a test may spoil."""
    return tiny_policy()[1]
