"""A model and its version, shared by the tests of exports."""

from pathlib import Path

import pytest

from tasks.serve.export.proof import Version
from tests.tasks.serve.export.models import save_model, version_of


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def version(model: Path) -> Version:
    return version_of(model)
