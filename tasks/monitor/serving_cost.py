"""Cost of an analysis in production, and the daily volume from which an own machine is cheaper than an API."""

from dataclasses import dataclass
from typing import Literal

import polars as pl

from schemas.config.evaluate import CostConfig


@dataclass(frozen=True)
class ServingCost:
    """Cost of serving over the monitored days."""

    source: Literal["logged", "machine"]
    """`logged`: the mean of the logged costs; `machine`: one machine that is paid all day."""
    answers_a_day: float
    """Mean over the days with answers; incomplete first and last days make it too low."""
    cost_per_analysis: float
    """US dollars."""
    costed_share: float
    """Share of the answers whose cost was logged, in [0, 1]."""
    api_price_per_analysis: float
    """US dollars, from the configuration."""
    saved_a_day: float
    """US dollars a day that the API would cost more; negative if less."""
    break_even: float | None
    """Answers a day from which a machine that is paid all day is cheaper than the API; None for a free API. The logs do
    not show whether one machine could answer so many."""


def serving_cost(scored: pl.DataFrame, prices: CostConfig) -> ServingCost:
    """Compute the cost of an analysis: from the logs if they have any, otherwise from a machine's hourly price.

    Args:
        scored: Scored answers: `day` and `cost` (US dollars or null); one row or more.
        prices: The machine's and the API's.
    """
    logged = scored["cost"].drop_nulls()
    answers_a_day = scored.height / scored["day"].n_unique()
    each = float(logged.sum()) / len(logged) if len(logged) else prices.price_per_day / answers_a_day
    return ServingCost(
        source="logged" if len(logged) else "machine",
        answers_a_day=answers_a_day,
        cost_per_analysis=each,
        costed_share=len(logged) / scored.height,
        api_price_per_analysis=prices.api_price_per_analysis,
        saved_a_day=(prices.api_price_per_analysis - each) * answers_a_day,
        break_even=prices.break_even,
    )
