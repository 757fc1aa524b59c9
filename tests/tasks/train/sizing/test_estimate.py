"""Estimates against hand-computed cases, and against the one run that was measured."""

from pathlib import Path
from typing import Any

import pytest

from schemas.config.config import Config
from schemas.config.policy import PolicyConfig
from schemas.config.profiles import PROFILES_FOLDER, load_config
from schemas.config.workers import WorkersConfig
from schemas.errors import InputError
from tasks.train.sizing.estimate import PricedStage, estimate_training, expected_prompts


def config_of(**train: Any) -> Config:
    """Return a configuration of V4.2's size, with these settings of the training."""
    recipe = {"prompts_per_step": 2, "generations": 16, "max_steps": 1_500, "max_completion_tokens": 512} | train
    return Config.model_validate({"synthesize": {"counts": {"extraction": 1_000, "push": 200}}, "train": recipe})


def training_of(config: Config, prompts: Any) -> PricedStage:
    """Return the first training of an estimate."""
    stages = estimate_training(config, prompts).stages
    assert stages is not None
    return next(stage for stage in stages if stage.time.name.startswith("train"))


def test_the_run_that_was_measured_is_estimated_as_it_was() -> None:
    config = load_config("l4")
    estimate = estimate_training(config, {"extraction": 1_480})
    training = training_of(config, {"extraction": 1_480})
    assert training.time.seconds == pytest.approx(22.6 * 3600)
    assert training.time.mark == "measured"
    assert (estimate.completions, estimate.tokens) == (48_000, 24_576_000)
    # 1,480 prompts x 16 generations / 32 completions a step: the V4.2 report's "about 1.5 epochs" at step 1,100.
    assert estimate.steps_per_epoch == 740
    assert estimate.epochs == pytest.approx(1500 / 740)
    assert estimate.too_many_epochs


def test_each_stage_has_the_price_of_its_machine() -> None:
    prices = {"NVIDIA L4": {"on_demand": 0.8, "spot": 0.3}, "cpu": {"on_demand": 0.06}}
    config = load_config("l4").model_copy(update={"workers": WorkersConfig.model_validate({"prices": prices})})
    stages = estimate_training(config, {"extraction": 1_480}).stages
    assert stages is not None
    for stage in stages:
        assert stage.time.seconds is not None
        on_demand, spot = (0.8, 0.3) if stage.time.machine == "gpu" else (0.06, 0.06)
        assert stage.on_demand == pytest.approx(stage.time.seconds / 3600 * on_demand)
        assert stage.spot == pytest.approx(stage.time.seconds / 3600 * spot)
    estimate = estimate_training(config, {"extraction": 1_480})
    assert estimate.seconds == pytest.approx(sum(stage.time.seconds or 0 for stage in stages))
    assert estimate.on_demand == pytest.approx(sum(stage.on_demand or 0 for stage in stages))
    assert {stage.time.machine for stage in stages} == {"cpu", "gpu"}


def test_each_card_of_a_divided_training_is_paid() -> None:
    alone = {"price_per_hour": 0.5, "processes": 1}
    one, two = (training_of(config_of(**alone | {"processes": cards}), {"push": 99}) for cards in (1, 2))
    assert one.time.seconds is not None
    assert two.time.seconds is not None
    assert two.time.seconds < one.time.seconds
    assert two.on_demand == pytest.approx(2 * two.time.seconds / 3600 * 0.5)


def test_without_prices_an_hour_costs_what_the_recipe_says() -> None:
    training = training_of(config_of(price_per_hour=0.5), {"push": 99})
    assert training.time.seconds is not None
    assert training.on_demand == training.spot == pytest.approx(training.time.seconds / 3600 * 0.5)


def test_one_and_a_half_epochs_are_not_too_many() -> None:
    assert not estimate_training(config_of(max_steps=1_110), {"push": 1_480}).too_many_epochs


def test_what_is_sampled_follows_the_recipe() -> None:
    curriculum = [{"until_step": 4, "max_completion_tokens": 16}, {"until_step": 6, "max_completion_tokens": 32}]
    recipe = {"max_steps": 10, "max_completion_tokens": 64, "curriculum": curriculum}
    assert estimate_training(config_of(**recipe), {"push": 99}).tokens == 32 * (4 * 16 + 2 * 32 + 4 * 64)
    twice = estimate_training(config_of(max_steps=10, iterations=2), {"push": 99})
    assert (twice.completions, twice.steps_per_epoch) == (32 * 5, 99)
    dynamic = estimate_training(config_of(max_steps=10, dynamic_sampling={"extra_groups": 3}), {"push": 99})
    assert dynamic.completions == 10 * (2 + 3) * 16


def test_seeds_and_tasks_of_their_own_are_trainings_each() -> None:
    alone = {"adapter_per_task": True, "seeds": (1, 2, 3), "learning_rate": 5e-6, "learning_rate_at_scale": 1e-6}
    estimate = estimate_training(config_of(**alone), {"extraction": 40_000, "push": 320, "churn": 0})
    assert estimate.trainings == 6
    assert estimate.steps_per_epoch == 160
    assert estimate.learning_rate == 5e-6
    assert estimate.stages is not None
    assert sum(stage.time.name.startswith("train, seed") for stage in estimate.stages) == 3


def test_dpo_samples_once_and_its_time_was_never_measured() -> None:
    """2 x 16 completions a step are 16 pairs; 48 pairs at most."""
    recipe = {"algorithm": "dpo", "preferences": {"prompts": 48}, "max_steps": 30, "accumulation": 4}
    estimate = estimate_training(config_of(**recipe), {"push": 99})
    assert (estimate.completions, estimate.tokens) == (48 * 16, 48 * 16 * 512)
    assert (estimate.pairs, estimate.steps_per_epoch, estimate.epochs) == (48, 3, 10)
    assert not estimate.too_many_epochs
    assert (estimate.seconds, estimate.on_demand, estimate.by_sampler) == (None, None, ())
    assert estimate_training(config_of(**recipe), {"push": 32}).pairs == 32


def test_expected_prompts_lose_the_held_out_share_and_gain_the_paraphrases() -> None:
    paraphrase = {"url": "http://127.0.0.1:1/v1", "model": "any", "share": 0.5, "variants": 2}
    config = Config.model_validate(
        {
            "synthesize": {"counts": {"extraction": 100, "push": 0}, "paraphrase": paraphrase},
            "curate": {"held_out_share": 0.2},
        }
    )
    assert expected_prompts(config) == {"extraction": 160}


@pytest.mark.parametrize("prompts", [{}, {"push": 0}])
def test_a_training_without_prompts_is_refused(prompts: dict[Any, int]) -> None:
    with pytest.raises(InputError, match="would have no prompts; raise synthesize"):
        estimate_training(config_of(), prompts)


def test_a_model_of_unknown_shape_has_no_time_and_no_memory(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "mamba"}')
    for name in ("nobody/has-fetched-this", str(tmp_path)):
        config = config_of().model_copy(update={"policy": PolicyConfig(name=name)})
        estimate = estimate_training(config, {"push": 99})
        assert (estimate.shape, estimate.seconds, estimate.memory, estimate.fits) == (None, None, None, None)
        assert estimate.steps_per_epoch == 49.5


@pytest.mark.parametrize("profile", sorted(file.stem for file in PROFILES_FOLDER.glob("*.toml")))
def test_every_profile_can_be_estimated(profile: str) -> None:
    config = load_config(profile)
    estimate = estimate_training(config, expected_prompts(config))
    assert estimate.seconds is not None
    assert estimate.seconds > 0
