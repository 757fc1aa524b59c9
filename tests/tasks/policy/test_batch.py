"""The sequences that a machine has memory for."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tasks.policy import batch
from tasks.policy.batch import asleep_bytes, sequence_bytes, sequences_at_once
from tasks.policy.load import load_policy


@pytest.fixture(scope="module")
def model(base: Path) -> Any:
    return load_policy(base, None, four_bit=False)


def test_a_sequence_takes_the_keys_and_values_that_the_model_keeps_of_it(model: Any) -> None:
    prompt, new = 20, 12
    cache = model(torch.ones(1, prompt + new, dtype=torch.long), use_cache=True).past_key_values
    kept = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
    taken = sequence_bytes(model, prompt, new)
    # Beside them the prompt's own arithmetic and a token's logits, and with no prompt the logits alone.
    assert taken > kept
    assert sequence_bytes(model, 0, prompt + new) == kept + batch.LOGIT_BYTES * model.config.vocab_size
    assert sequence_bytes(model, 2 * prompt, new) > taken


def test_as_many_are_generated_at_once_as_fit_and_never_more_than_are_asked_for(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = sum(weight.nbytes for weight in model.parameters())
    each = sequence_bytes(model, 100, 100)
    for sequences, most, at_once in ((10.5, 64, 10), (10.5, 4, 4), (0.5, 64, 1), (-3.0, 64, 1)):
        memory = int((weights + sequences * each) / batch.HOST_SHARE)
        monkeypatch.setattr(batch, "host_memory", lambda memory=memory: memory)
        assert sequences_at_once(model, 100, 100, most) == at_once


def test_only_what_is_asleep_was_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted as vLLM 0.31 keeps it: by address, a handle whose second part is the size."""
    monkeypatch.delitem(sys.modules, "vllm.device_allocator.cumem", raising=False)
    assert asleep_bytes() == 0
    allocations = {
        place: SimpleNamespace(handle=(0, size, 1, 2), is_asleep=asleep)
        for place, (size, asleep) in enumerate([(700, True), (30, False), (5, True)])
    }
    allocator = SimpleNamespace(pointer_to_data=allocations)
    module = SimpleNamespace(CuMemAllocator=SimpleNamespace(get_instance=lambda: allocator))
    monkeypatch.setitem(sys.modules, "vllm.device_allocator.cumem", module)
    assert asleep_bytes() == 705
