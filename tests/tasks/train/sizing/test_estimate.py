"""Estimates against hand-computed cases, and against the one run that was measured."""

from typing import Any

import pytest

from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.config.workers import WorkersConfig
from tasks.train.sizing.estimate import StageCost, estimate_training


def training_of(config: Config, prompts: Any) -> StageCost:
    """Return the first training of an estimate."""
    stages = estimate_training(config, prompts).stages
    assert stages is not None
    return next(stage for stage in stages if stage.name.startswith("train"))


def test_the_run_that_was_measured_is_estimated_as_it_was() -> None:
    config = load_config("l4")
    estimate = estimate_training(config, {"extraction": 1_480})
    assert training_of(config, {"extraction": 1_480}).seconds == pytest.approx(22.6 * 3600)
    assert (estimate.completions, estimate.tokens) == (48_000, 24_576_000)
    # 1,480 prompts x 16 generations / 32 completions a step: the V4.2 report's "about 1.5 epochs" at step 1,100.
    assert estimate.steps_per_epoch == 740
    assert estimate.epochs == pytest.approx(1500 / 740)
    assert estimate.too_many_epochs


def test_each_stage_has_the_price_of_its_machine() -> None:
    prices = {"NVIDIA L4": {"on_demand": 0.8, "spot": 0.3}, "cpu": {"on_demand": 0.06}}
    config = load_config("l4").model_copy(update={"workers": WorkersConfig.model_validate({"prices": prices})})
    estimate = estimate_training(config, {"extraction": 1_480})
    stages = estimate.stages
    assert stages is not None
    for stage in stages:
        assert stage.seconds is not None
        on_demand, spot = (0.8, 0.3) if stage.machine == "gpu" else (0.06, 0.06)
        assert stage.cost_usd == pytest.approx(stage.seconds / 3600 * on_demand)
        assert stage.spot_usd == pytest.approx(stage.seconds / 3600 * spot)
    assert estimate.total("cost_usd") == pytest.approx(sum(stage.cost_usd or 0 for stage in stages))
    assert {stage.machine for stage in stages} == {"cpu", "gpu"}
