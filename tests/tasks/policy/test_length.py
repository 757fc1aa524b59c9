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
from tasks.policy.stand_in import FOLDER

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


def _saved(
    folder: Path, *, template: str | None = "{% for m in messages %}{{ m['content'] }}\n{% endfor %}", **parts: Any
) -> PromptLengths:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(alphabet, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    wrapped.chat_template = template
    wrapped.save_pretrained(folder)
    return PromptLengths.of(PolicyConfig(name=str(folder)))


@given(texts=st.lists(st.tuples(TEXTS, TEXTS), max_size=5), most_tokens=st.integers(10, 120), stand_in=st.booleans())
@settings(deadline=None)
def test_prompts_are_measured_exactly(
    texts: list[tuple[str, str]], most_tokens: int, stand_in: bool, base: Path
) -> None:
    """The stand-in's without its tokenizer, which would load torch."""
    tokenizer = load_tokenizer(FOLDER if stand_in else base)
    lengths = PromptLengths.of(PolicyConfig(stand_in=True) if stand_in else PolicyConfig(name=str(base)))
    true = [_true_tokens(tokenizer, *text) for text in texts]
    assert lengths.tokens(_table(*texts)).to_list() == true
    assert lengths.too_long(_table(*texts), most_tokens).to_list() == [tokens > most_tokens for tokens in true]


def test_a_tokenizer_that_lengthens_texts_is_not_trusted_to_bytes(tmp_path: Path) -> None:
    from tokenizers import normalizers, pre_tokenizers

    table = _table(("oi", "a"))
    plain = _saved(tmp_path / "plain")
    assert plain.tokens(table).to_list() == [5]
    lengthening: dict[str, dict[str, Any]] = {
        "replaces": {"normalizer": normalizers.Replace("a", "b" * 50)},
        "in turn": {"normalizer": normalizers.Sequence([normalizers.NFC(), normalizers.Prepend("b" * 50)])},
        "adds spaces": {"pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=True)},
    }
    for name, parts in lengthening.items():
        lengths = _saved(tmp_path / name, **parts)
        (tokens,) = lengths.tokens(table)
        assert tokens > 5
        assert lengths.too_long(table, tokens - 1).to_list() == [True]
        assert lengths.too_long(table, tokens).to_list() == [False]
