"""Metrics of the gateway in Prometheus' format (https://prometheus.io/docs/instrumenting/exposition_formats/)."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
"""Upper bounds of the buckets of a request's time."""


class Metrics:
    """What the gateway counts, from its start on."""

    def __init__(self) -> None:
        """Begin at zero."""
        self._registry = registry = CollectorRegistry()

        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(f"tucano_{name}", meaning, labels, registry=registry)

        of_answer = "task", "version"
        self.answers = counter("answers", "Answers that were made.", *of_answer)
        self.valid = counter("valid_answers", "Answers that were sent, at least in part.", *of_answer)
        self.checked = counter("checked_answers", "Answers that were checked and hold as a whole.", *of_answer)
        self.tokens = counter("tokens", "Tokens of the answers.", *of_answer)
        meaning = "Time of a request, its waiting included."
        self.seconds = Histogram("tucano_answer_seconds", meaning, of_answer, buckets=SECONDS, registry=registry)
        self.refused = counter("refused_requests", "Requests that were not answered.", "code")
        self.unlogged = counter("unlogged_answers", "Answers that could not be logged.")
        self.switches = counter("switches", "New versions by what became of them.", "outcome")
        meaning = "Requests that are answered or wait."
        self.requests_inside = Gauge("tucano_requests_inside", meaning, registry=registry)

    def text(self) -> bytes:
        """Return all of them in Prometheus' text format."""
        return generate_latest(self._registry)
