"""Memory that a sleeping vLLM has given back."""

import sys
from types import SimpleNamespace

import pytest

from tasks.policy.vllm_sleep import ALLOCATOR, asleep_bytes


def test_without_vllm_nothing_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, ALLOCATOR, raising=False)
    assert asleep_bytes() == 0


def test_only_what_is_asleep_was_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted as vLLM 0.31 keeps it: by address, a handle whose second part is the size."""
    allocations = {
        1: SimpleNamespace(handle=(0, 700, 1, 2), is_asleep=True),
        2: SimpleNamespace(handle=(0, 30, 1, 2), is_asleep=False),
        3: SimpleNamespace(handle=(0, 5, 1, 2), is_asleep=True),
    }
    allocator = SimpleNamespace(pointer_to_data=allocations)
    module = SimpleNamespace(CuMemAllocator=SimpleNamespace(get_instance=lambda: allocator))
    monkeypatch.setitem(sys.modules, ALLOCATOR, module)
    assert asleep_bytes() == 705
