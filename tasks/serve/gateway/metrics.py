"""Metrics of the gateway in Prometheus' format (https://prometheus.io/docs/instrumenting/exposition_formats/).

The gateway's own time in a request is all but the waiting for a place and for the engine.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Receive, Scope, Send

SECONDS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
"""Upper bounds of the buckets of a request's time."""
OWN_SECONDS: Final = (0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 1)
"""Upper bounds of the buckets of the gateway's own time."""


class Metrics:
    """What the gateway counts, from its start on."""

    def __init__(self) -> None:
        """Begin at zero."""
        self._registry = registry = CollectorRegistry()

        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(f"tucano_{name}", meaning, labels, registry=registry)

        def histogram(name: str, meaning: str, buckets: Sequence[float], *labels: str) -> Histogram:
            return Histogram(f"tucano_{name}", meaning, labels, buckets=buckets, registry=registry)

        of_answer = "task", "version", "role"
        self.answers = counter("answers", "Answers that were made.", *of_answer)
        self.valid = counter("valid_answers", "Answers that were sent, at least in part.", *of_answer)
        self.checked = counter("checked_answers", "Answers that were checked and hold as a whole.", *of_answer)
        self.tokens = counter("tokens", "Tokens of the answers.", *of_answer)
        self.seconds = histogram("answer_seconds", "Time of a request, its waiting included.", SECONDS, *of_answer)
        meaning = "Reward of the form of sampled answers, which needs no reference."
        self.form = histogram("form_reward", meaning, (0.25, 0.5, 0.75, 1.0), *of_answer)
        meaning = "Time of a request without its waiting and the engine's."
        self.own_seconds = histogram("gateway_seconds", meaning, OWN_SECONDS)
        self.refused = counter("refused_requests", "Requests that were not answered.", "code")
        self.unlogged = counter("unlogged_answers", "Answers that could not be logged.")
        self.shadows_left_out = counter("shadows_left_out", "Requests that the shadow did not answer.")
        self.switches = counter("switches", "New versions by what became of them.", "outcome")
        meaning = "Starts of the serving version's engine."
        self.engine_starts = Gauge("tucano_engine_starts", meaning, ["version"], registry=registry)
        meaning = "Requests that are answered or wait."
        self.requests_inside = Gauge("tucano_requests_inside", meaning, registry=registry)

    def text(self) -> bytes:
        """Return all of them in Prometheus' text format."""
        return generate_latest(self._registry)


_ELSEWHERE: Final[ContextVar[list[float] | None]] = ContextVar("elsewhere", default=None)
"""Seconds that the request spent waiting for others, each wait by itself."""


@contextmanager
def elsewhere() -> Iterator[None]:
    """Leave the block's time out of the request's own."""
    waits = _ELSEWHERE.get()
    began = time.monotonic()
    try:
        yield
    finally:
        if waits is not None:
            waits.append(time.monotonic() - began)


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
        waits: list[float] = []
        token = _ELSEWHERE.set(waits)
        began = time.monotonic()
        try:
            await self._app(scope, receive, send)
        finally:
            _ELSEWHERE.reset(token)
            self._histogram.observe(time.monotonic() - began - sum(waits))
