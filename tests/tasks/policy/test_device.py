"""The device by which a machine's hour has its price."""

import pytest
import torch

from tasks.policy.device import machine_device


def test_a_machine_without_a_gpu_is_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert machine_device() == "cpu"


def test_a_gpu_has_the_name_that_torch_gives_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda number: ["NVIDIA L4", "NVIDIA H200"][number])
    assert machine_device() == "NVIDIA L4"
