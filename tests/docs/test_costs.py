"""What each profile costs is in docs/l4.md as `tucano train --dry-run` computes it, and the READMEs repeat that."""

import re

import pytest

from flows.cli.training import cost_lines, costs_of
from schemas.config.profiles import known_profiles, load_config
from schemas.source import REPOSITORY
from tasks.train.sizing.estimate import estimate_training, expected_prompts

README_ROW = re.compile(r"^\| `(l4[\w.-]*)` \|(.*)\|$", re.MULTILINE)


def of_profile(profile: str) -> str:
    page = (REPOSITORY / "docs" / "l4.md").read_text(encoding="utf-8")
    return " ".join(page.partition(f"### `{profile}`")[2].partition("\n### ")[0].split())


@pytest.mark.parametrize("profile", [name for name in known_profiles() if name.startswith("l4")])
def test_the_page_has_the_profiles_costs(profile: str) -> None:
    config = load_config(profile)
    for line in cost_lines(costs_of(config, estimate_training(config, expected_prompts(config)))):
        assert line in of_profile(profile)


@pytest.mark.parametrize("readme", ["README.md", "README.pt-BR.md"])
def test_a_readmes_costs_are_those_of_the_page(readme: str) -> None:
    rows = README_ROW.findall((REPOSITORY / readme).read_text(encoding="utf-8").replace(",", ".").replace("US$ ", "$"))
    assert {profile for profile, _ in rows} >= {"l4", "l4-next"}
    for profile, row in rows:
        figures = re.findall(r"[\d.]+ h|\$[\d.]+|R\$ [\d.]+", row)
        assert len(figures) == 5
        assert [figure for figure in figures if figure not in of_profile(profile)] == []
