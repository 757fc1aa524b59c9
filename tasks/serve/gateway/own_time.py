"""Time of the gateway itself in a request: all but the waiting for a place and for the engine."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from prometheus_client import Histogram
from starlette.types import ASGIApp, Receive, Scope, Send


@dataclass
class _Elsewhere:
    """Time of one request that was spent waiting for others."""

    seconds: float = 0.0


_REQUEST: Final[ContextVar[_Elsewhere | None]] = ContextVar("request", default=None)


@contextmanager
def elsewhere() -> Iterator[None]:
    """Leave the block's time out of the request's own."""
    request = _REQUEST.get()
    began = time.monotonic()
    try:
        yield
    finally:
        if request is not None:
            request.seconds += time.monotonic() - began


class OwnTime:
    """Measures each request, from its body's arrival to the end of its answer."""

    def __init__(self, app: ASGIApp, *, histogram: Histogram) -> None:
        """Measure an application.

        Args:
            app: The application.
            histogram: Takes the seconds of each request.
        """
        self._app, self._histogram = app, histogram

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and measure it."""
        request = _Elsewhere()
        token = _REQUEST.set(request)
        began = time.monotonic()
        try:
            await self._app(scope, receive, send)
        finally:
            _REQUEST.reset(token)
            self._histogram.observe(time.monotonic() - began - request.seconds)
