"""What an analysis costs: how fast a model answered, and how many analyses a day make it cheaper than an API."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Serving:
    """How one model answered the test split."""

    model: str
    """Who answered: `base`, `tuned`, `champion` or the rival's name."""
    answers: int
    """Answers in all."""
    mean_tokens: float
    """Generated tokens an answer."""
    truncated_share: float
    """Share of answers that the token limit cut off, in [0, 1]."""
    latency_p50: float
    """Seconds until an answer was there, the median; with batches, until its batch was."""
    latency_p95: float
    """The same, which one answer in twenty exceeds."""
    cost_per_analysis: float
    """US dollars, by the time that the machine was busy, or by the endpoint's tokens."""
    break_even: float | None
    """Analyses a day from which a machine that runs all day is cheaper than the API; None for an endpoint, and where
    an API costs nothing."""
