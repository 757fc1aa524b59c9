"""What an analysis costs: how fast a model answered, and how many analyses a day make it cheaper than an API."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from schemas.evaluate_config import CostConfig, RivalConfig
from tasks.evaluate.answers_file import Timing, read_answers, read_timing
from tasks.policy.generate import StopReason

HOURS_A_DAY: Final = 24
SECONDS_AN_HOUR: Final = 3600


@dataclass(frozen=True)
class Serving:
    """How one model answered the test split."""

    model: str
    """Who answered: `base`, `tuned`, `champion` or the rival's name."""
    answers: int
    """Answers in all."""
    mean_tokens: float | None
    """Generated tokens an answer; None where an endpoint did not tell all of them."""
    truncated_share: float
    """Share of answers that the token limit cut off, in [0, 1]."""
    latency_p50: float
    """Seconds until an answer was there, the median; with batches, until its batch was."""
    latency_p95: float
    """The same, which one answer in twenty exceeds."""
    cost_per_analysis: float | None
    """US dollars, by the time that the machine was busy, or by the endpoint's tokens; None where an endpoint did not
    tell all of them."""
    break_even: float | None
    """Analyses a day from which a machine that runs all day is cheaper than the API, 0 for a machine that costs
    nothing; None where there is no such number: for an endpoint, where the API costs nothing, and for a machine that
    is too slow to answer so many in a day."""


def serving(model: str, answers: Path, cost: CostConfig, rival: RivalConfig | None = None) -> Serving:
    """Say how a model answered, and what that costs.

    A machine's analysis costs its price an hour times the hours in which it did nothing but answer, over the answers:
    what it costs where there is always work. The break-even is for a machine that is paid whether there is work or
    not (`CostConfig.break_even`).

    Args:
        model: What it is called.
        answers: Folder of its answers artifact.
        cost: The machine's price and the API's.
        rival: The endpoint that answered, whose prices count then; None where a machine of ours did.
    """
    rollouts, timing = read_answers(answers), read_timing(answers)
    cut_off = [(rollout.model_extra or {})["stop_reason"] == StopReason.TOKEN_LIMIT for rollout in rollouts]
    p50, p95 = np.quantile([each.seconds for each in timing.answers], [0.5, 0.95])
    return Serving(
        model=model,
        answers=len(rollouts),
        mean_tokens=_mean([each.tokens for each in timing.answers]),
        truncated_share=float(np.mean(cut_off)),
        latency_p50=float(p50),
        latency_p95=float(p95),
        cost_per_analysis=_machine_cost(timing, cost) if rival is None else _endpoint_cost(timing, rival),
        break_even=_break_even(timing, cost) if rival is None else None,
    )


def _seconds_an_analysis(timing: Timing) -> float:
    if timing.machine_seconds is None:
        raise ValueError("an endpoint answered, and whose prices count was not said")
    return timing.machine_seconds / len(timing.answers)


def _machine_cost(timing: Timing, cost: CostConfig) -> float:
    return cost.price_per_hour * _seconds_an_analysis(timing) / SECONDS_AN_HOUR


def _endpoint_cost(timing: Timing, rival: RivalConfig) -> float | None:
    read = _mean([each.prompt_tokens for each in timing.answers])
    written = _mean([each.tokens for each in timing.answers])
    if read is None or written is None:
        return None
    return (read * rival.price_input + written * rival.price_output) / 1e6


def _break_even(timing: Timing, cost: CostConfig) -> float | None:
    analyses = cost.break_even
    fits = analyses is not None and analyses * _seconds_an_analysis(timing) <= HOURS_A_DAY * SECONDS_AN_HOUR
    return analyses if fits else None


def _mean(counts: Sequence[int | None]) -> float | None:
    known = [count for count in counts if count is not None]
    return float(np.mean(known)) if len(known) == len(counts) else None
