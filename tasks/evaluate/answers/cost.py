"""Cost of an analysis: latency of each model, and the daily volume from which it is cheaper than an API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from schemas.config.evaluate import CostConfig, RivalConfig
from schemas.config.workers import MachinePrice, price_per_hour
from tasks.evaluate.answers.files import Timing, read_answers, read_timing
from tasks.policy.generate import StopReason

SECONDS_AN_HOUR: Final = 3600


@dataclass(frozen=True)
class Serving:
    """Latency and cost of one model on the test split."""

    model: str
    answers: int
    mean_tokens: float | None
    """Generated tokens per answer; None if an endpoint did not report all of them."""
    truncated_share: float
    """Share of answers that the token limit cut off, in [0, 1]."""
    latency_p50: float
    """Median seconds until an answer was complete; in a batch, until the whole batch was."""
    latency_p95: float
    cost_per_analysis: float | None
    """US dollars, by the machine's busy time or the endpoint's tokens; None if an endpoint did not report all of
    them."""
    break_even: float | None
    """Analyses per day from which a machine that runs all day is cheaper than the API, 0 for a free machine; None if
    there is no such number: for an endpoint, for a free API, and for a machine too slow to answer that many in a
    day."""
    device: str | None = None
    """Device of the machine that answered, such as `NVIDIA L4` or `cpu`; None for an endpoint, and if not recorded."""
    price_per_hour: float | None = None
    """On-demand price of that machine in US dollars per hour; None for an endpoint."""


def serving(
    model: str,
    answers: Path,
    cost: CostConfig,
    rival: RivalConfig | None = None,
    *,
    prices: Mapping[str, MachinePrice],
) -> Serving:
    """Compute a model's latency and cost.

    A machine's analysis costs its hourly price times its busy hours, divided by the answers: the cost under constant
    load. The break-even is for a machine that is paid whether there is work or not (`CostConfig.break_even`). Both use
    the on-demand price of the machine recorded with the answers, since a Spot machine cannot serve reliably.
    """
    rollouts, timing = read_answers(answers), read_timing(answers)
    cut_off = [(rollout.model_extra or {})["stop_reason"] == StopReason.TOKEN_LIMIT for rollout in rollouts]
    p50, p95 = np.quantile([each.seconds for each in timing.answers], [0.5, 0.95])
    cost = cost.model_copy(update={"price_per_hour": _price_per_hour(timing, cost, prices)})
    seconds = (timing.machine_seconds or 0.0) / len(timing.answers)
    analyses = cost.break_even
    fits = analyses is not None and analyses * seconds <= 24 * SECONDS_AN_HOUR
    return Serving(
        model=model,
        answers=len(rollouts),
        mean_tokens=_mean([each.tokens for each in timing.answers]),
        truncated_share=float(np.mean(cut_off)),
        latency_p50=float(p50),
        latency_p95=float(p95),
        cost_per_analysis=(_endpoint_cost(timing, rival) if rival else cost.price_per_hour * seconds / SECONDS_AN_HOUR),
        break_even=analyses if fits and rival is None else None,
        device=" and ".join(sorted(timing.devices)) or None,
        price_per_hour=cost.price_per_hour if rival is None else None,
    )


def _price_per_hour(timing: Timing, cost: CostConfig, prices: Mapping[str, MachinePrice]) -> float:
    """Return the hourly price of the machine that answered; of several, the mean weighted by seconds."""
    total = sum(timing.devices.values())
    if not total:
        return cost.price_per_hour
    return sum(
        seconds / total * price_per_hour(prices, device, spot=False, otherwise=cost.price_per_hour)
        for device, seconds in timing.devices.items()
    )


def _endpoint_cost(timing: Timing, rival: RivalConfig) -> float | None:
    read, written = (_mean([getattr(each, name) for each in timing.answers]) for name in ("prompt_tokens", "tokens"))
    if read is None or written is None:
        return None
    return (read * rival.price_input + written * rival.price_output) / 1e6


def _mean(counts: Sequence[int | None]) -> float | None:
    known = [count for count in counts if count is not None]
    return float(np.mean(known)) if len(known) == len(counts) else None
