"""A state folder of its own under the tests' Prefect server, as a session has it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flows.runtime.prefect_client import drain


@contextmanager
def prefect_state(server: str, root: Path) -> Iterator[None]:
    """Point Prefect at the server and at a folder's results while the block runs, and send what it still queues."""
    from prefect.settings import (
        PREFECT_API_URL,
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
        PREFECT_LOCAL_STORAGE_PATH,
        temporary_settings,
    )

    settings = {
        PREFECT_API_URL: server,
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
        PREFECT_LOCAL_STORAGE_PATH: root / "prefect",
    }
    with temporary_settings(settings):
        yield
        drain()
