"""Storage service in a process of its own, so that its work takes no time of the training's."""

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Final

from tests.storage_server import storage_server

BUCKET: Final = "checkpoints"


class Service:
    """A storage service in a process of its own; `gs://` reaches it while it runs."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        os.environ["STORAGE_EMULATOR_HOST"] = connection.recv()

    def take_received(self) -> int:
        """Return the bytes uploaded since the last call."""
        self._connection.send("received")
        return int(self._connection.recv())

    def forget(self) -> None:
        """Remove every object."""
        self._connection.send("forget")
        self._connection.recv()


def _serve(connection: Connection) -> None:
    with storage_server(bucket=BUCKET) as server:
        connection.send(server.url)
        while (wanted := connection.recv()) is not None:
            connection.send(server.bytes_received)
            server.bytes_received = 0
            if wanted == "forget":
                server.reset()


@contextmanager
def storage_service() -> Iterator[Service]:
    """Start a service, and end it after the block."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=[theirs], daemon=True)
    process.start()
    try:
        yield Service(ours)
    finally:
        ours.send(None)
        process.join()
