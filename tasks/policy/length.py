"""Prompt length in tokens, with system text and chat template, up to the start of the answer."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import polars as pl
from jinja2 import Template

from schemas.config.train_sections import PolicyConfig
from tasks.policy.generate import Message, as_messages
from tasks.policy.published import TEMPLATE_FILE, TOKENIZER_FILE, given_template, read_tokenizer, shipped

ROWS_AT_ONCE: Final = 1_000


@dataclass(frozen=True)
class PromptLengths:
    """Length measure of prompts, in tokens of a policy. It is passed to other processes without the tokenizer."""

    policy: str
    """The policy's configuration as JSON, from which its tokenizer is loaded."""

    @classmethod
    def of(cls, config: PolicyConfig) -> "PromptLengths":
        """Return the measure of a policy's prompts; nothing is loaded yet."""
        return cls(config.model_dump_json())

    def too_long(self, table: pl.DataFrame, most_tokens: int) -> pl.Series:
        """Return, for each row, whether its prompt takes more tokens than allowed."""
        measure = _measure(self.policy)
        found = pl.Series("too_long", [True], pl.Boolean).new_from_index(0, table.height)
        if measure.template_bytes is not None:
            most = pl.sum_horizontal(pl.col("system", "prompt").str.len_bytes())
            found = table.select(too_long=most + measure.template_bytes > most_tokens).to_series()
        rows = found.arg_true()
        return found.scatter(rows, measure.count(table[rows]) > most_tokens) if len(rows) else found

    def tokens(self, table: pl.DataFrame) -> pl.Series:
        """Return, for each row, its prompt's tokens; InputError as `too_long`."""
        return _measure(self.policy).count(table)


@dataclass(frozen=True)
class _Measure:
    """Chat template and tokenizer of a policy, loaded once per process."""

    render: Callable[[list[Message]], str]
    encode: Callable[[list[str]], Iterable[int]]
    """Returns the tokens of each text."""
    template_bytes: int | None = None
    """Bytes that the chat template itself adds; None where a prompt may have more tokens than bytes."""

    def count(self, table: pl.DataFrame) -> pl.Series:
        counts: list[int] = []
        for part in table.select("system", "prompt").iter_slices(ROWS_AT_ONCE):
            counts += self.encode([self.render(as_messages(system, prompt)) for system, prompt in part.rows()])
        return pl.Series("tokens", counts, pl.UInt32)


@lru_cache(maxsize=2)
def _measure(policy: str) -> _Measure:
    config = PolicyConfig.model_validate_json(policy)
    if config.stand_in:
        return _of_stand_in()
    tokenizer = read_tokenizer(config, given_template(config))

    def render(messages: list[Message]) -> str:
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    def encode(texts: list[str]) -> Iterable[int]:
        encoded = tokenizer(texts, add_special_tokens=False, return_attention_mask=False, verbose=False)
        return map(len, encoded["input_ids"])

    return _Measure(render, encode)


def _of_stand_in() -> _Measure:
    """Read the stand-in's files by what transformers reads them with: itself it would load torch, for seconds."""
    from tokenizers import Tokenizer

    folder = shipped()
    template = Template((folder / TEMPLATE_FILE).read_text(encoding="utf-8"), trim_blocks=True, lstrip_blocks=True)
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))

    def render(messages: list[Message]) -> str:
        return str(template.render(messages=messages, add_generation_prompt=True))

    def encode(texts: list[str]) -> Iterable[int]:
        return map(len, tokenizer.encode_batch_fast(texts, add_special_tokens=False))

    # Each of its tokens stands for at least one byte of UTF-8, so that most prompts are short enough unread.
    return _Measure(render, encode, len(render(as_messages("", "")).encode()))
