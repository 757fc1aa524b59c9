"""Prices on the pages follow from the profiles: of a retraining, as `tucano train --dry-run` has it, and of serving."""

import re

import pytest

from flows.cli.training import cost_lines, costs_of
from schemas.config.evaluate import CostConfig
from schemas.config.profiles import known_profiles, load_config
from schemas.source import REPOSITORY
from tasks.train.sizing.estimate import estimate_training, expected_prompts

README_ROW = re.compile(r"^\| `(l4[\w.-]*)` \|(.*)\|$", re.MULTILINE)
PRICES = load_config("l4", []).workers.prices
MACHINES = {
    "e2-standard-2": PRICES["cpu"].per_hour(spot=False),
    "Spot g2-standard-4": PRICES["NVIDIA L4"].per_hour(spot=True),
    "g2-standard-4": PRICES["NVIDIA L4"].per_hour(spot=False),
}


def read(page: str) -> str:
    return (REPOSITORY / page).read_text(encoding="utf-8")


def of_profile(profile: str) -> str:
    return " ".join(read("docs/l4.md").partition(f"### `{profile}`")[2].partition("\n### ")[0].split())


@pytest.mark.parametrize("profile", [name for name in known_profiles() if name.startswith("l4")])
def test_the_page_has_the_profiles_costs(profile: str) -> None:
    config = load_config(profile)
    for line in cost_lines(costs_of(config, estimate_training(config, expected_prompts(config)))):
        assert line in of_profile(profile)


@pytest.mark.parametrize("readme", ["README.md", "README.pt-BR.md"])
def test_a_readmes_costs_are_those_of_the_page(readme: str) -> None:
    rows = README_ROW.findall(read(readme).replace(",", ".").replace("US$ ", "$"))
    assert {profile for profile, _ in rows} >= {"l4", "l4-next"}
    for profile, row in rows:
        figures = re.findall(r"[\d.]+ h|\$[\d.]+|R\$ [\d.]+", row)
        assert len(figures) == 5
        assert [figure for figure in figures if figure not in of_profile(profile)] == []


def test_serving_costs_by_the_prices_and_variables_that_its_page_names() -> None:
    section = read("infra/README.md").partition("## What serving costs")[2].partition("\n## ")[0]
    variables = {name: float(value) for name, value in re.findall(r"(?m)^\| `(.+)` \| ([\d.]+) \|", section)}
    price = CostConfig().api_price_per_analysis
    assert variables["API_PRICE"] == price
    assert f"US$ {1000 * price:g} a thousand" in section
    for machine, an_hour in MACHINES.items():
        assert variables[f"PRICE_PER_HOUR` of `{machine}"] == an_hour
    for speed in (10, 30, 100, 300, 1000, 3000):
        # A thousand answers of machines that are never idle.
        tokens = variables["TOKENS_OF_AN_ANSWER"]
        dollars = [1000 * an_hour / 3600 * tokens / speed for an_hour in MACHINES.values()]
        cells = [f"US$ {each:.3g}, R$ {each * variables['BRL_PER_USD']:.3g}" for each in dollars]
        assert f"| {speed} | {' | '.join(cells)} |" in section.splitlines()
