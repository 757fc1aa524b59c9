"""What an analysis costs in production, by hand."""

import polars as pl
import pytest

from schemas.config.evaluate import CostConfig
from tasks.monitor.serving_cost import serving_cost
from tests.tasks.monitor.reward_days import day


def logged(*costs: float | None) -> pl.DataFrame:
    """Two days of answers, as many on each."""
    return pl.DataFrame(
        [(day(number % 2), cost) for number, cost in enumerate(costs)],
        schema={"day": pl.Date, "cost": pl.Float64},
        orient="row",
    )


def test_without_logged_costs_the_machine_is_paid_all_day() -> None:
    cost = serving_cost(logged(*[None] * 200), CostConfig(price_per_hour=0.5, api_price_per_analysis=0.01))
    assert (cost.source, cost.answers_a_day, cost.costed_share) == ("machine", 100.0, 0.0)
    assert cost.cost_per_analysis == pytest.approx(0.12)
    assert cost.saved_a_day == pytest.approx(1.0 - 12.0)
    assert cost.break_even == pytest.approx(1200)


def test_logged_costs_count_where_there_are_any_and_their_share_is_reported() -> None:
    cost = serving_cost(logged(0.002, 0.004, None, None), CostConfig(api_price_per_analysis=0.01))
    assert (cost.source, cost.costed_share) == ("logged", 0.5)
    assert cost.cost_per_analysis == pytest.approx(0.003)
    assert cost.saved_a_day == pytest.approx(2 * 0.007)


def test_at_the_break_even_the_machine_costs_what_the_api_costs() -> None:
    prices = CostConfig(price_per_hour=0.05, api_price_per_analysis=0.01)
    assert prices.break_even == pytest.approx(120)
    cost = serving_cost(logged(*[None] * 240), prices)
    assert cost.cost_per_analysis == pytest.approx(cost.api_price_per_analysis)
    assert cost.saved_a_day == pytest.approx(0.0)


def test_an_api_that_costs_nothing_is_never_beaten() -> None:
    assert serving_cost(logged(None, None), CostConfig(api_price_per_analysis=0.0)).break_even is None
