"""A model and its own answers, shared by the tests of exports."""

from pathlib import Path

import pytest

from tasks.serve.export.proof import Original
from tests.tasks.serve.export.models import original_of, save_model


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def original(model: Path) -> Original:
    return original_of(model)
