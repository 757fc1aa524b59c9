"""One gateway for the tests of a file that leave it as it is."""

from collections.abc import Iterator

import pytest

from tests.gateway import Gateway, running, says_right


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("logs"), says_right) as gateway:
        yield gateway
