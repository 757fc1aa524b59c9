"""What infra/README.md says that serving costs follows from the prices and the variables that it names."""

import re

import pytest

from schemas.config.evaluate import CostConfig
from schemas.config.profiles import load_config
from schemas.source import REPOSITORY

README = (REPOSITORY / "infra" / "README.md").read_text(encoding="utf-8")
SECTION = README.partition("## What serving costs")[2].partition("\n## ")[0]
PRICES = load_config("l4", []).workers.prices
MACHINES = {
    "e2-standard-2": PRICES["cpu"].per_hour(spot=False),
    "Spot g2-standard-4": PRICES["NVIDIA L4"].per_hour(spot=True),
    "g2-standard-4": PRICES["NVIDIA L4"].per_hour(spot=False),
}
API_PRICE = CostConfig().api_price_per_analysis
SPEEDS = (10, 30, 100, 300, 1000, 3000)


def variable(name: str) -> float:
    """Return the value of a variable of the section."""
    found = re.findall(rf"^\| `{name}` \| ([\d.]+) \|", SECTION, re.MULTILINE)
    assert len(found) == 1, name
    return float(found[0])


def thousand(price_per_hour: float, tokens_a_second: float) -> float:
    """Return the price in US dollars of a thousand answers of a machine that is never idle."""
    return 1000 * price_per_hour / 3600 * variable("TOKENS_OF_AN_ANSWER") / tokens_a_second


def both(dollars: float) -> str:
    return f"US$ {dollars:.3g}, R$ {dollars * variable('BRL_PER_USD'):.3g}"


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def test_the_prices_are_those_of_the_profile_and_the_api() -> None:
    assert variable("API_PRICE") == API_PRICE
    assert f"US$ {1000 * API_PRICE:g} a thousand" in SECTION
    for machine, price in MACHINES.items():
        assert variable(f"PRICE_PER_HOUR` of `{machine}") == price


@pytest.mark.parametrize("speed", SPEEDS)
def test_a_thousand_answers_cost_what_the_formula_says(speed: int) -> None:
    assert row(str(speed), *(both(thousand(price, speed)) for price in MACHINES.values())) in SECTION.splitlines()
