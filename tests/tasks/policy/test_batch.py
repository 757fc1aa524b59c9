"""The sequences that a machine has memory for."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tasks.policy import batch
from tasks.policy.batch import host_memory, longest_sequence, sequence_bytes, sequences_at_once
from tasks.policy.load import load_policy
from tasks.train.sizing.shape import KNOWN_SHAPES, DecoderShape

GB = 10**9


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


def test_of_the_longest_sequence_as_many_fit_as_were_asked_for_and_the_model_can_read_it(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = sum(weight.nbytes for weight in model.parameters())
    for tokens, sequences, longest in ((100, 3, 100), (1, 64, 1), (10**6, 3, model.config.max_position_embeddings)):
        memory = int((weights + sequences * sequence_bytes(model, tokens, 0)) / batch.HOST_SHARE) + 1
        monkeypatch.setattr(batch, "host_memory", lambda memory=memory: memory)
        assert longest_sequence(model, sequences) == longest
    monkeypatch.setattr(batch, "host_memory", lambda: weights)
    assert longest_sequence(model, 3) == 0


def test_a_container_has_the_memory_that_it_may_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(batch, "MEMORY_LIMIT", limit)
    whole = host_memory()
    assert whole > GB / 4
    limit.write_text("max\n", encoding="ascii")
    assert host_memory() == whole
    limit.write_text("1048576\n", encoding="ascii")
    assert host_memory() == 1048576


def test_the_small_machine_answers_fewer_at_once_than_it_is_asked_to() -> None:
    """The profile's 64 prompts would take 8.8 GB of keys and values on a machine of 8 GB."""
    shape = KNOWN_SHAPES["Polygl0t/Tucano2-qwen-0.5B-Instruct"]
    policy = shape_of(shape, torch.float32)
    cache = sequence_bytes(policy, 0, 600) - batch.LOGIT_BYTES * shape.vocabulary
    assert cache == 600 * 229_376
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "host_memory", lambda: 8 * GB)
        small = sequences_at_once(policy, 88, 512, 64)
        patch.setattr(batch, "host_memory", lambda: 64 * GB)
        large = sequences_at_once(policy, 88, 512, 64)
    weights = shape.parameters * 4
    assert weights + small * sequence_bytes(policy, 88, 512) <= batch.HOST_SHARE * 8 * GB
    assert (1 < small < 64, large) == (True, 64)


def shape_of(shape: DecoderShape, dtype: torch.dtype) -> Any:
    """Return as much of a model as its memory is counted by; its weights take none."""
    config = SimpleNamespace(
        num_attention_heads=shape.heads,
        head_dim=shape.head_size,
        num_key_value_heads=shape.key_value_heads,
        hidden_size=shape.width,
        intermediate_size=shape.feed_forward,
        num_hidden_layers=shape.layers,
        vocab_size=shape.vocabulary,
    )
    weights = torch.empty(shape.parameters, dtype=dtype, device="meta")
    return SimpleNamespace(config=config, parameters=lambda: iter([weights]))
