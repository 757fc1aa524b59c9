"""Prompt lengths: exact, and nothing tokenized without need."""

from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.policy import PolicyConfig
from tasks.policy.generate import as_messages
from tasks.policy.length import PromptLengths
from tasks.policy.load import load_tokenizer
from tasks.policy.published import STAND_IN_FOLDER

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
def test_prompts_are_measured_exactly(
    texts: list[tuple[str, str]], most_tokens: int, stand_in: bool, base: Path
) -> None:
    """The stand-in's without its tokenizer, which would load torch."""
    tokenizer = load_tokenizer(STAND_IN_FOLDER if stand_in else base)
    lengths = PromptLengths.of(PolicyConfig(stand_in=True) if stand_in else PolicyConfig(name=str(base)))
    true = [_true_tokens(tokenizer, *text) for text in texts]
    assert lengths.tokens(_table(*texts)).to_list() == true
    assert lengths.too_long(_table(*texts), most_tokens).to_list() == [tokens > most_tokens for tokens in true]
