"""Price of an hour of the machine that trains, and the policy that validation asks."""

from pathlib import Path
from typing import Any

import pytest

from schemas.config.train import TrainConfig
from schemas.config.workers import MachinePrice
from tasks.train import stage
from tests.tasks.train.small_request import request_of

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
