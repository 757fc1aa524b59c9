"""Estimates against hand-computed cases, and against the one run that was measured."""

from typing import Any

import pytest

from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.config.workers import WorkersConfig
from tasks.train.sizing.estimate import StageCost, estimate_training, sampling_seconds
from tasks.train.sizing.memory import DecoderShape

QWEN = DecoderShape("qwen2", 24, 896, 14, 2, 64, 4864, 151_936, tied=True)
"""Qwen2.5-0.5B, which the published sweep of vLLM served."""


def config_of(**train: Any) -> Config:
    """Return a configuration of V4.2's size, with these settings of the training."""
    recipe = {"prompts_per_step": 2, "generations": 16, "max_steps": 1_500, "max_completion_tokens": 512} | train
    return Config.model_validate({"synthesize": {"counts": {"extraction": 1_000, "push": 200}}, "train": recipe})


def training_of(config: Config, prompts: Any) -> StageCost:
    """Return the first training of an estimate."""
    stages = estimate_training(config, prompts).stages
    assert stages is not None
    return next(stage for stage in stages if stage.name.startswith("train"))


def test_the_run_that_was_measured_is_estimated_as_it_was() -> None:
    config = load_config("l4")
    estimate = estimate_training(config, {"extraction": 1_480})
    training = training_of(config, {"extraction": 1_480})
    assert training.seconds == pytest.approx(22.6 * 3600)
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
        assert stage.seconds is not None
        on_demand, spot = (0.8, 0.3) if stage.machine == "gpu" else (0.06, 0.06)
        assert stage.cost_usd == pytest.approx(stage.seconds / 3600 * on_demand)
        assert stage.spot_usd == pytest.approx(stage.seconds / 3600 * spot)
    estimate = estimate_training(config, {"extraction": 1_480})
    assert estimate.total("seconds") == pytest.approx(sum(stage.seconds or 0 for stage in stages))
    assert estimate.total("cost_usd") == pytest.approx(sum(stage.cost_usd or 0 for stage in stages))
    assert {stage.machine for stage in stages} == {"cpu", "gpu"}


def test_dpo_samples_once_and_its_time_was_never_measured() -> None:
    """2 x 16 completions a step are 16 pairs; 48 pairs at most."""
    recipe = {"algorithm": "dpo", "preferences": {"prompts": 48}, "max_steps": 30, "accumulation": 4}
    estimate = estimate_training(config_of(**recipe), {"push": 99})
    assert (estimate.completions, estimate.tokens) == (48 * 16, 48 * 16 * 512)
    assert (estimate.pairs, estimate.steps_per_epoch, estimate.epochs) == (48, 3, 10)
    assert not estimate.too_many_epochs
    assert (estimate.total("seconds"), estimate.total("cost_usd")) == (None, None)
    assert estimate_training(config_of(**recipe), {"push": 32}).pairs == 32


@pytest.mark.parametrize(("sequences", "published"), [(1, 168), (8, 1_312), (16, 2_277), (32, 3_773)])
def test_vllm_is_as_fast_as_in_the_published_sweep(sequences: int, published: float) -> None:
    """Prompts of 256 tokens and answers of 128; tokens of answers a second."""
    seconds = sampling_seconds(QWEN, "vllm", sequences, 128, prompt_tokens=256)
    assert sequences * 128 / seconds == pytest.approx(published, rel=0.16)
