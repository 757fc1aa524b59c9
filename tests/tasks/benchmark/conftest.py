"""A small benchmark, written once."""

from pathlib import Path

import pytest

from schemas.progress import silent
from tasks.benchmark.write import write_benchmark

SEED, PER_TASK, ORDERS = 7, 6, 400


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("benchmark")
    write_benchmark(SEED, PER_TASK, ORDERS, folder, silent)
    return folder
