"""Generation: every prompt answered in its order, by its seed, with the reason why it stopped."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.train_sections import PolicyConfig
from tasks.policy import batch
from tasks.policy.batch import sequence_bytes, sequences_at_once
from tasks.policy.generate import Completion, as_messages, generate
from tasks.policy.length import PromptLengths
from tasks.policy.load import load_policy, load_tokenizer
from tasks.policy.published import STAND_IN_FOLDER

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


def test_a_batch_is_split_where_memory_is_too_small(policy: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from tasks.policy import generate as module

    parts: list[int] = []
    together = _answer(policy, 1, temperature=1e-4, batch_size=4)
    monkeypatch.setattr(module, "sequences_at_once", lambda *_: 3)
    split = _answer(policy, 1, temperature=1e-4, batch_size=4, progress=lambda done, *_: parts.append(done))
    assert split == together
    # Of each batch that was asked for, as many as fit: 3 and 1, and the last 1.
    assert parts == [3, 4, 5]


def test_a_sequence_takes_the_keys_and_values_that_the_model_keeps_of_it(
    policy: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, prompt, new = policy[0], 20, 12
    cache = model(torch.ones(1, prompt + new, dtype=torch.long), use_cache=True).past_key_values
    kept = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
    # As of most families, whose configurations leave it to the width and the heads.
    monkeypatch.setitem(vars(model.config), "head_dim", None)
    taken = sequence_bytes(model, prompt, new)
    # Beside them the prompt's own arithmetic and a token's logits, and with no prompt the logits alone.
    assert taken > kept
    assert sequence_bytes(model, 0, prompt + new) == kept + batch.LOGIT_BYTES * model.config.vocab_size
    assert sequence_bytes(model, 2 * prompt, new) > taken


def test_as_many_are_generated_at_once_as_fit(policy: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = policy
    weights = sum(weight.nbytes for weight in model.parameters())
    each = sequence_bytes(model, 100, 100)
    for sequences, most, at_once in ((10.5, 64, 10), (10.5, 4, 4), (0.5, 64, 1), (-3.0, 64, 1)):
        memory = int((weights + sequences * each) / batch.HOST_SHARE)
        monkeypatch.setattr(batch, "host_memory", lambda memory=memory: memory)
        assert sequences_at_once(model, 100, 100, most) == at_once


LONGER_IN_NFC = "\u0958"
TEXTS = st.lists(
    st.one_of(
        st.text(),
        st.sampled_from(
            ["<|im_start|>", "<|im_end|>", "<|endoftext|>", LONGER_IN_NFC, "\ufb2c", "o pedido chegou", "\r\n "]
        ),
    ),
    max_size=6,
).map("".join)


def _table(*rows: tuple[str, str]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), {"system": pl.String, "prompt": pl.String}, orient="row")


def _true_tokens(tokenizer: Any, system: str, prompt: str) -> int:
    rendered = tokenizer.apply_chat_template(as_messages(system, prompt), tokenize=False, add_generation_prompt=True)
    return len(tokenizer(rendered, add_special_tokens=False)["input_ids"])


@given(texts=st.lists(st.tuples(TEXTS, TEXTS), max_size=5), most_tokens=st.integers(10, 120), stand_in=st.booleans())
@settings(deadline=None, max_examples=40)
def test_prompts_are_measured(texts: list[tuple[str, str]], most_tokens: int, stand_in: bool, base: Path) -> None:
    """The stand-in's without its tokenizer, which would load torch."""
    tokenizer = load_tokenizer(STAND_IN_FOLDER if stand_in else base)
    lengths = PromptLengths.of(PolicyConfig(stand_in=True) if stand_in else PolicyConfig(name=str(base)))
    true = [_true_tokens(tokenizer, *text) for text in texts]
    assert lengths.tokens(_table(*texts)).to_list() == true
    assert lengths.too_long(_table(*texts), most_tokens).to_list() == [tokens > most_tokens for tokens in true]
