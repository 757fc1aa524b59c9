"""Price of an hour of the machine that trains, and the policy that validation asks."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schemas.config.train import TrainConfig
from schemas.config.workers import MachinePrice
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.train import stage
from tasks.train.watch import validation
from tests.tasks.train.small_request import request_of
from tests.tasks.train.small_training import prompt_rows

PRICES = {"NVIDIA L4": MachinePrice(on_demand=0.71, spot=0.28), "cpu": MachinePrice(on_demand=0.067)}
NOTICE = {"preemption": {"notice_url": "http://127.0.0.1:9/preempted"}}


@pytest.mark.parametrize(
    ("device", "recipe", "price"),
    [
        ("NVIDIA L4", {}, 0.71),
        ("NVIDIA L4", NOTICE, 0.28),
        ("cpu", {}, 0.067),
        ("cpu", NOTICE, 0.067),
        ("NVIDIA H200", NOTICE, 9.0),
    ],
)
def test_an_hour_is_priced_by_the_machine_that_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, recipe: dict[str, Any], price: float
) -> None:
    monkeypatch.setattr(stage, "machine_device", lambda: device)
    config = TrainConfig.model_validate({"price_per_hour": 9.0, **recipe})
    assert stage._price_per_hour(request_of(config, tmp_path, tmp_path, prices=PRICES)) == price


def test_the_checkpoint_is_chosen_by_the_policy_that_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its length and its guidance are the rollouts'; its temperature is the evaluation's."""
    asked: dict[str, Any] = {}
    monkeypatch.setattr(validation, "validate", lambda *_, **named: asked.update(named))
    config = TrainConfig(guided="forms", max_completion_tokens=77)
    request = request_of(config, tmp_path, tmp_path)
    rewards = SimpleNamespace(databases=Databases(()))
    inputs: Any = SimpleNamespace(request=request, trainable=SimpleNamespace(tokenizer=None), rewards=rewards)
    training: Any = SimpleNamespace(request=request, config=config, _rows_of=lambda _: prompt_rows())
    stage._Training._selection(training, inputs, SimpleNamespace(model=None))._score(3)
    assert (asked["guided"], asked["max_tokens"], asked["temperature"], asked["step"]) == ("forms", 77, 0.1, 3)
