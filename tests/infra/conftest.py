"""Fixtures of the tests of scripts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.infra.cloud import Cloud, serve_cloud


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    with serve_cloud(tmp_path) as cloud:
        yield cloud
