"""What each profile costs is in docs/l4.md as `tucano train --dry-run` computes it."""

import pytest

from flows.cli.training import cost_lines, costs_of
from schemas.config.profiles import known_profiles, load_config
from schemas.source import REPOSITORY
from tasks.train.sizing.estimate import estimate_training, expected_prompts


@pytest.mark.parametrize("profile", [name for name in known_profiles() if name.startswith("l4")])
def test_the_page_has_the_profiles_costs(profile: str) -> None:
    config = load_config(profile)
    page = (REPOSITORY / "docs" / "l4.md").read_text(encoding="utf-8")
    of_profile = page.partition(f"### `{profile}`")[2].partition("\n### ")[0]
    for line in cost_lines(costs_of(config, estimate_training(config, expected_prompts(config)))):
        assert line in " ".join(of_profile.split())
