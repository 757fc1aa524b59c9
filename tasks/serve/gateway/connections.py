"""Connections that send no request in time are closed: uvicorn waits for the rest of a header for ever."""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol


class ImpatientProtocol(H11Protocol):
    """HTTP/1.1 of uvicorn, with a limit on the time between connection or response and the next whole header."""

    seconds: ClassVar[float] = 30.0
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._wait_no_longer()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._wait_no_longer()
        self._waiting = self.loop.call_later(self.seconds, self._close_if_nothing_came)

    def _wait_no_longer(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _close_if_nothing_came(self) -> None:
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()


def impatient(seconds: float) -> type[ImpatientProtocol]:
    """Return the protocol with its limit in seconds."""
    return type("ImpatientProtocol", (ImpatientProtocol,), {"seconds": seconds})
