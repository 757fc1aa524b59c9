"""Metrics of the gateway in Prometheus' format (https://prometheus.io/docs/instrumenting/exposition_formats/).

The gateway's own time in a request is all but the waiting for a place and for the engine.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
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
        self._registry = CollectorRegistry()
        of_answer = ["task", "version", "role"]
        self.answers = Counter("tucano_answers", "Answers that were made.", of_answer, registry=self._registry)
        self.valid = Counter(
            "tucano_valid_answers", "Answers that were sent, at least in part.", of_answer, registry=self._registry
        )
        self.checked = Counter(
            "tucano_checked_answers",
            "Answers that were checked and hold as a whole.",
            of_answer,
            registry=self._registry,
        )
        self.tokens = Counter("tucano_tokens", "Tokens of the answers.", of_answer, registry=self._registry)
        self.seconds = Histogram(
            "tucano_answer_seconds", "Time of a request, its waiting included.", of_answer, buckets=SECONDS,
            registry=self._registry,
        )  # fmt: skip
        self.form = Histogram(
            "tucano_form_reward", "Reward of the form of sampled answers, which needs no reference.", of_answer,
            buckets=(0.25, 0.5, 0.75, 1.0), registry=self._registry,
        )  # fmt: skip
        self.own_seconds = Histogram(
            "tucano_gateway_seconds",
            "Time of a request without its waiting and the engine's.",
            buckets=OWN_SECONDS,
            registry=self._registry,
        )
        self.refused = Counter(
            "tucano_refused_requests", "Requests that were not answered.", ["code"], registry=self._registry
        )
        self.unlogged = Counter("tucano_unlogged_answers", "Answers that could not be logged.", registry=self._registry)
        self.shadows_left_out = Counter(
            "tucano_shadows_left_out", "Requests that the shadow did not answer.", registry=self._registry
        )
        self.engine_starts = Gauge(
            "tucano_engine_starts", "Starts of the serving version's engine.", ["version"], registry=self._registry
        )
        self.requests_inside = Gauge(
            "tucano_requests_inside", "Requests that are answered or wait.", registry=self._registry
        )
        self.switches = Counter(
            "tucano_switches", "New versions by what became of them.", ["outcome"], registry=self._registry
        )

    def text(self) -> bytes:
        """Return all of them in Prometheus' text format."""
        return generate_latest(self._registry)


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
