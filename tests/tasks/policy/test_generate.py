"""Generation: every prompt answered in its order, by its seed, with the reason why it stopped."""

from pathlib import Path
from typing import Any

import pytest

from tasks.policy.generate import Completion, as_messages, generate
from tasks.policy.load import load_policy, load_tokenizer

CONVERSATIONS = [as_messages("Seja breve.", "o pedido " * count) for count in (3, 1, 6, 2, 5)]


@pytest.fixture(scope="module")
def policy(base: Path) -> tuple[Any, Any]:
    return load_policy(base, None, four_bit=False), load_tokenizer(base)


def _answer(policy: tuple[Any, Any], seed: int, **changes: Any) -> list[Completion]:
    options = {"temperature": 1.0, "max_tokens": 12, "batch_size": 2, **changes}
    return generate(*policy, CONVERSATIONS, seed=seed, **options)


def test_an_answer_does_not_depend_on_its_batch(policy: tuple[Any, Any]) -> None:
    assert _answer(policy, 1, batch_size=1) == _answer(policy, 1, batch_size=5)
    assert _answer(policy, 1, batch_size=1, stock=True) != _answer(policy, 1, batch_size=5, stock=True)


def test_a_policy_that_the_engine_does_not_know_is_answered_by_transformers_and_logged_once(
    policy: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(policy[0].config, "model_type", "of-tomorrow")
    assert _answer(policy, 1) == _answer(policy, 1, stock=True)
    logged = [record.message for record in caplog.records if "engine" in record.message]
    assert len(logged) == 1
    assert logged[0].endswith("does not know model_type: of-tomorrow (Qwen3ForCausalLM)")


def test_a_batch_is_split_where_memory_is_too_small_and_every_prompt_is_answered(
    policy: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tasks.policy import generate as module

    parts: list[int] = []
    together = _answer(policy, 1, temperature=1e-4, batch_size=4)
    monkeypatch.setattr(module, "sequences_at_once", lambda *_: 3)
    split = _answer(policy, 1, temperature=1e-4, batch_size=4, progress=lambda done, *_: parts.append(done))
    assert split == together
    # Of each batch that was asked for, as many as fit: 3 and 1, and the last 1.
    assert parts == [3, 4, 5]
