"""A GPU that is too small, as torch would describe it."""

from types import SimpleNamespace

import pytest
import torch

from schemas.config.train import TrainConfig
from schemas.errors import InputError
from tasks.train.sizing.card import refuse_small_card, refuse_unfit_machine
from tests.tasks.train.installed import install


def show_card(monkeypatch: pytest.MonkeyPatch, name: str, size: float) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: name)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(total_memory=size))


def test_a_card_that_is_too_small_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    show_card(monkeypatch, "Tesla T4", 15.8e9)
    with pytest.raises(InputError, match=r"GPU of 24 GB, and Tesla T4 has 15\.8; train on a larger one"):
        refuse_small_card(TrainConfig(device_memory_gb=24))


def test_the_card_that_it_is_written_for_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """An L4, of which the driver keeps some back; and no comparison where none is named."""
    show_card(monkeypatch, "NVIDIA L4", 23.57e9)
    refuse_small_card(TrainConfig(device_memory_gb=24))
    show_card(monkeypatch, "Tesla T4", 15.8e9)
    refuse_small_card(TrainConfig())


def test_a_machine_without_a_card_has_none_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    refuse_small_card(TrainConfig(device_memory_gb=1e6))


def test_a_machine_with_another_unsloth_is_refused_before_anything_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    show_card(monkeypatch, "NVIDIA L4", 23.57e9)
    install(monkeypatch, {"unsloth": "2026.11.1", "unsloth-zoo": "2026.10.7"})
    with pytest.raises(InputError, match=r"needs unsloth==2026\.10\.7 \(installed: 2026\.11\.1\) in .*interpreter"):
        refuse_unfit_machine(TrainConfig(backend="unsloth", device_memory_gb=24))


def test_a_recipe_without_them_needs_neither_unsloth_nor_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    show_card(monkeypatch, "NVIDIA L4", 23.57e9)
    install(monkeypatch, {})
    refuse_unfit_machine(TrainConfig(device_memory_gb=24))


def test_a_machine_without_a_card_may_fetch_for_one_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    install(monkeypatch, {})
    refuse_unfit_machine(TrainConfig(backend="unsloth", device_memory_gb=24))
