"""The recipes say all that they mean, so that no default decides for them, and mean what their documents say."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from schemas.profiles import PROFILES_FOLDER, load_config
from schemas.section import Section
from schemas.train_config import TrainConfig
from tasks.train.estimate import KNOWN_SHAPES, expected_prompts, memory_of

PROFILES = sorted(file.stem for file in PROFILES_FOLDER.glob("*.toml"))
MEANT_UNSET = {"interpreter", "learning_rate_at_scale", "preemption.notice_url"}
"""TOML knows no null, and these mean something where they are not set."""
L4_BYTES = 24e9


def _unsaid(section: type[Section], said: Mapping[str, Any], place: str = "") -> Iterator[str]:
    for name, field in section.model_fields.items():
        if name not in said:
            yield place + name
        elif isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            yield from _unsaid(field.annotation, said[name], f"{place}{name}.")


@pytest.mark.parametrize("profile", PROFILES)
def test_every_field_of_a_recipe_is_set(profile: str) -> None:
    document = tomllib.loads((PROFILES_FOLDER / f"{profile}.toml").read_text(encoding="utf-8"))
    assert set(_unsaid(TrainConfig, document["train"])) <= MEANT_UNSET


def test_a_field_that_is_not_set_is_found() -> None:
    said: dict[str, Any] = {name: {} for name in TrainConfig.model_fields if name != "beta"}
    assert {"beta", "lora.rank", "preflight.prompts"} <= set(_unsaid(TrainConfig, said))


def test_the_card_has_the_published_recipe() -> None:
    """The final report's appendix; Clip-Higher, the entropy bonus and the rest came after it."""
    config = load_config("l4")
    recipe = config.train
    assert config.policy.name == "Polygl0t/Tucano2-qwen-0.5B-Instruct"
    assert (recipe.backend, recipe.load_in_4bit, recipe.lora.rank, recipe.lora.alpha) == ("unsloth", True, 16, 32)
    assert (recipe.learning_rate_for(1_480), recipe.schedule, recipe.warmup_share) == (
        5e-6, "constant_with_warmup", 0.05,
    )  # fmt: skip
    assert (recipe.beta, recipe.scale_rewards, recipe.aggregation) == (0.0, "none", "normalize_then_sum")
    assert (recipe.prompts_per_step, recipe.generations, recipe.max_completion_tokens) == (2, 16, 512)
    assert (recipe.temperature, recipe.max_steps, recipe.evaluate_every) == (1.0, 1500, 50)
    assert (recipe.save_every, recipe.patience, recipe.seeds) == (100, 15, (42, 123, 456))
    assert recipe.task_weights.applies_to == "loss"
    assert recipe.epsilon_low == recipe.epsilon_high
    assert not (recipe.entropy.coefficient or recipe.entropy.adaptive or recipe.dynamic_sampling.extra_groups)
    assert config.warm_start.steps == 0
    assert sum(config.curate.test_rows(task) for task, count in config.synthesize.counts.items() if count) == 65
    prompts = expected_prompts(config)
    assert sum(prompts.values()) == pytest.approx(1_480, rel=0.03)
    shares = [prompts[task] / sum(prompts.values()) for task in ("extraction", "sql_qa", "insights", "push")]
    assert shares == pytest.approx([0.4, 0.4, 0.1, 0.1], abs=0.01)


def test_what_comes_next_has_what_the_reports_recommend() -> None:
    config = load_config("l4-next")
    recipe = config.train
    prompts = expected_prompts(config)
    assert sum(prompts.values()) >= 5_000
    assert min(prompts.values()) >= 500
    assert config.synthesize.paraphrase is not None
    assert (recipe.epsilon_low, recipe.epsilon_high) == (0.2, 0.28)
    assert recipe.iterations > 1, "with one step on its completions the ratio is 1, and no clip acts"
    assert recipe.entropy.adaptive
    assert (recipe.entropy.target, recipe.entropy.largest, recipe.entropy.step) == (0.2, 0.005, 1e-4)
    assert recipe.dynamic_sampling.extra_groups > 0
    assert recipe.mask_truncated
    assert recipe.task_weights.applies_to == "sampler"
    assert 1e-6 < recipe.learning_rate_for(5_000) < 5e-6 == recipe.learning_rate_for(1_500)
    assert recipe.vllm.enabled
    assert recipe.export_merged


@pytest.mark.parametrize("profile", ["l4", "l4-next"])
def test_a_step_at_its_longest_fits_the_card(profile: str) -> None:
    """In one part, the published batch would take 90 GB without gradient checkpointing."""
    config = load_config(profile)
    memory = memory_of(KNOWN_SHAPES[config.policy.name], config.train, config.curate.max_prompt_tokens, on_gpu=True)
    assert memory.card < config.train.preflight.max_memory_share * L4_BYTES


@pytest.mark.parametrize("profile", PROFILES)
def test_no_task_is_too_small_for_its_own_preflight(profile: str) -> None:
    """Duplicates and leakage take up to one in twenty of what is made."""
    config = load_config(profile)
    assert min(expected_prompts(config).values()) * 0.95 >= config.train.preflight.min_prompts_per_task


def test_the_tests_own_recipe_asks_nothing_of_a_policy_that_learnt_nothing() -> None:
    small = Path(__file__).parents[1] / "e2e" / "small.toml"
    preflight = load_config(str(small)).train.preflight
    assert (preflight.min_distinct, preflight.min_spread, preflight.max_zero_variance) == (1, 0.0, 1.0)
