"""What each profile costs is in docs/l4.md as `tucano train --dry-run` computes it, and the READMEs repeat that."""

import re
from typing import Any

import pytest

from flows.plan.prices import cost_lines, costs_of
from schemas.config.evaluate import CostConfig
from schemas.config.profiles import known_profiles, load_config
from schemas.source import REPOSITORY
from tasks.train.sizing.estimate import estimate_training, expected_prompts

ROW = re.compile(r"^\| `(l4[\w.-]*)` \|(.*)\|$", re.MULTILINE)
PAGE = (REPOSITORY / "docs" / "l4.md").read_text(encoding="utf-8")


def costs(profile: str) -> dict[str, Any]:
    config = load_config(profile)
    return costs_of(config, estimate_training(config, expected_prompts(config)))


@pytest.mark.parametrize("profile", [name for name in known_profiles() if name.startswith("l4")])
def test_the_page_has_the_profiles_costs(profile: str) -> None:
    found = costs(profile)
    rate = found["reais_per_dollar"]
    money = [f"${dollars:.2f} (R$ {dollars * rate:.2f})" for dollars in (found["dollars"], found["spot_dollars"])]
    gains = f"{found['gain_of_a_task']:.2f} / {found['gain_overall']:.2f}"
    cells = dict(ROW.findall(PAGE))[profile].split(" | ")
    assert [cell.strip() for cell in cells[1:]] == [f"{found['hours']:.1f} h", *money, str(found["scores"]), gains]


def test_the_page_has_what_the_dry_run_of_l4_prints() -> None:
    printed = " ".join(PAGE.partition("```text")[2].partition("```")[0].split())
    assert [line for line in cost_lines(costs("l4")) if line not in printed] == []


@pytest.mark.parametrize("page", ["README.md", "README.pt-BR.md", "docs/gcp.md", "docs/pt-BR/gcp.md"])
def test_another_pages_costs_are_those_of_the_page(page: str) -> None:
    rows = ROW.findall((REPOSITORY / page).read_text(encoding="utf-8").replace(",", ".").replace("US$ ", "$"))
    assert {profile for profile, _ in rows} >= {"l4", "l4-next"}
    for profile, row in rows:
        figures = re.findall(r"[\d.]+ h|\$[\d.]+|R\$ [\d.]+", row)
        assert len(figures) == 5
        assert [figure for figure in figures if figure not in dict(ROW.findall(PAGE))[profile]] == []


def test_serving_costs_by_the_prices_and_variables_that_its_page_names() -> None:
    prices = load_config("l4", []).workers.prices
    machines = {
        "e2-standard-2": prices["cpu"].per_hour(spot=False),
        "Spot g2-standard-4": prices["NVIDIA L4"].per_hour(spot=True),
        "g2-standard-4": prices["NVIDIA L4"].per_hour(spot=False),
    }
    page = (REPOSITORY / "infra" / "README.md").read_text(encoding="utf-8")
    section = page.partition("## What serving costs")[2].partition("\n## ")[0]
    variables = {name: float(value) for name, value in re.findall(r"(?m)^\| `(.+)` \| ([\d.]+) \|", section)}
    price = CostConfig().api_price_per_analysis
    assert variables["API_PRICE"] == price
    assert f"US$ {1000 * price:g} a thousand" in section
    for machine, an_hour in machines.items():
        assert variables[f"PRICE_PER_HOUR` of `{machine}"] == an_hour
    for speed in (10, 30, 100, 300, 1000, 3000):
        # A thousand answers of machines that are never idle.
        tokens = variables["TOKENS_OF_AN_ANSWER"]
        dollars = [1000 * an_hour / 3600 * tokens / speed for an_hour in machines.values()]
        cells = [f"US$ {each:.3g}, R$ {each * variables['BRL_PER_USD']:.3g}" for each in dollars]
        assert f"| {speed} | {' | '.join(cells)} |" in section.splitlines()
