"""The recipes say all that they mean, so that no default decides for them, and mean what their documents say."""

import pytest

from schemas.config.profiles import PROFILES_FOLDER, load_config
from tasks.train.sizing.estimate import expected_prompts
from tasks.train.sizing.memory import fits, memory_limit, read_shape, stage_memory

PROFILES = sorted(file.stem for file in PROFILES_FOLDER.glob("*.toml"))
ON_L4 = [profile for profile in PROFILES if profile.startswith("l4")]


@pytest.mark.parametrize("profile", ON_L4)
def test_every_stage_at_its_longest_fits_the_card_with_a_margin(profile: str) -> None:
    """Each stage's batch against an L4's memory: training, answers, SFT; a tenth of the allowed share stays free."""
    config = load_config(profile)
    assert config.train.device_memory_gb == 24
    shape = read_shape(config.policy)
    assert shape is not None
    assert fits(config, shape)
    for stage, size in stage_memory(config, shape).items():
        assert size < 0.9 * memory_limit(config), stage


@pytest.mark.parametrize("profile", PROFILES)
def test_no_task_is_too_small_for_its_own_preflight(profile: str) -> None:
    """Duplicates and leakage take up to one in twenty of what is made."""
    config = load_config(profile)
    assert min(expected_prompts(config).values()) * 0.95 >= config.train.preflight.min_prompts_per_task
