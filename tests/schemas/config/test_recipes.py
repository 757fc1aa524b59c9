"""The recipes say all that they mean, so that no default decides for them, and mean what their documents say."""

from pathlib import Path

import pytest

from schemas.config.profiles import PROFILES_FOLDER, load_config
from tasks.train.sizing.estimate import expected_prompts
from tasks.train.sizing.fit import fits, memory_limit, stage_memory
from tasks.train.sizing.shape import read_shape

PROFILES = sorted(file.stem for file in PROFILES_FOLDER.glob("*.toml"))
ON_L4 = [profile for profile in PROFILES if profile.startswith("l4")]


def test_the_next_recipe_has_the_reports_recommendations() -> None:
    config = load_config("l4-next")
    recipe = config.train
    prompts = expected_prompts(config)
    assert sum(prompts.values()) >= 5_000
    assert min(prompts.values()) >= 500
    assert (recipe.epsilon_low, recipe.epsilon_high) == (0.2, 0.28)
    assert recipe.iterations > 1, "with one step on its completions the ratio is 1, and no clip acts"
    assert recipe.entropy.adaptive
    assert (recipe.entropy.target, recipe.entropy.largest, recipe.entropy.step) == (0.2, 0.005, 1e-4)
    assert recipe.dynamic_sampling.extra_groups > 0
    assert recipe.mask_truncated
    assert recipe.task_weights.applies_to == "sampler"
    assert 1e-6 < recipe.learning_rate_for(5_000) < 5e-6 == recipe.learning_rate_for(1_500)
    assert recipe.vllm.enabled


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


def test_the_tests_own_recipe_asks_nothing_of_a_policy_that_learnt_nothing() -> None:
    small = Path(__file__).parents[2] / "e2e" / "small.toml"
    preflight = load_config(str(small)).train.preflight
    assert (preflight.min_distinct, preflight.min_spread, preflight.max_zero_variance) == (1, 0.0, 1.0)
