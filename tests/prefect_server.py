"""One Prefect server for tests whose commands would each start their own."""

from collections.abc import Iterator

import pytest

from flows.runtime.prefect_server import session_server


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the server's API address, for PREFECT_API_URL."""
    home = tmp_path_factory.mktemp("prefect")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_HOME", str(home))
        patch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
        patch.setenv("DO_NOT_TRACK", "1")
        with session_server(home / "server.log") as address:
            yield address
