"""A state folder of its own under the tests' Prefect server, as a session has it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flows.runtime.prefect_client import drain
from flows.runtime.session import prefect_folder


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
        # Where a command of its own process finds what this one has made, and the other way round.
        PREFECT_LOCAL_STORAGE_PATH: prefect_folder(root) / "storage",
    }
    with temporary_settings(settings):
        yield
        drain()
