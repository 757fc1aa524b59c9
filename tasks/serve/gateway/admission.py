"""Admission of requests to the engine: so many at once, so many waiting, and none longer than its deadline."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from tasks.serve.gateway.errors import RequestRefused
from tasks.serve.gateway.own_time import elsewhere

RETRY_AFTER: Final = 1
"""Seconds until a place may be free."""


class Admission:
    """Places at the engine, and the queue before them."""

    def __init__(self, *, places: int, queue: int, deadline_seconds: float) -> None:
        """Open the queue.

        Args:
            places: Requests at once.
            queue: Requests that wait beyond those.
            deadline_seconds: Longest time of a request, with its waiting.
        """
        self._places = asyncio.Semaphore(places)
        self._most = places + queue
        self._deadline_seconds = deadline_seconds
        self.inside = 0
        """Requests that are answered or wait."""

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Wait for a place, and have it in the block, which the deadline ends.

        Raises:
            RequestRefused: The queue is full, or the deadline came.
        """
        if self.inside >= self._most:
            raise RequestRefused(
                429, "queue_full", f"{self.inside} requests are under way; try again later", retry_after=RETRY_AFTER
            )
        self.inside += 1
        try:
            async with asyncio.timeout(self._deadline_seconds):
                with elsewhere():
                    await self._places.acquire()
                try:
                    yield
                finally:
                    self._places.release()
        except TimeoutError:
            raise RequestRefused(
                504,
                "deadline",
                f"no answer within {self._deadline_seconds:g} seconds; try again later",
                retry_after=RETRY_AFTER,
            ) from None
        finally:
            self.inside -= 1
