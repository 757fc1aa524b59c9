"""Prompt length in tokens, with system text and chat template, up to the start of the answer."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import polars as pl
from jinja2 import Template

from schemas.config.train_sections import PolicyConfig
from tasks.policy.generate import Message, as_messages, tokens_of
from tasks.policy.published import TEMPLATE_FILE, TOKENIZER_FILE, given_template, read_tokenizer, shipped

ROWS_AT_ONCE: Final = 1_000
Measure = Callable[[Sequence[list[Message]]], Iterable[int]]
"""Returns the tokens of each conversation up to its answer."""


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
        _, template_bytes = _measure(self.policy)
        if template_bytes is None:
            return self.tokens(table) > most_tokens
        # Most prompts are short enough unread.
        most = pl.sum_horizontal(pl.col("system", "prompt").str.len_bytes()) + template_bytes
        found = table.select(too_long=most > most_tokens).to_series()
        rows = found.arg_true()
        return found.scatter(rows, self.tokens(table[rows]) > most_tokens) if len(rows) else found

    def tokens(self, table: pl.DataFrame) -> pl.Series:
        """Return, for each row, its prompt's tokens."""
        (measure, _), counts = _measure(self.policy), list[int]()
        for part in table.select("system", "prompt").iter_slices(ROWS_AT_ONCE):
            counts += measure([as_messages(system, prompt) for system, prompt in part.rows()])
        return pl.Series("tokens", counts, pl.UInt32)


@lru_cache(maxsize=2)
def _measure(policy: str) -> tuple[Measure, int | None]:
    """Return the measure of a policy, and its template's bytes where no prompt has more tokens than bytes."""
    config = PolicyConfig.model_validate_json(policy)
    if config.stand_in:
        return _of_stand_in()
    tokenizer = read_tokenizer(config, given_template(config))

    def measure(conversations: Sequence[list[Message]]) -> Iterable[int]:
        return (len(tokens_of(tokenizer, each)) for each in conversations)

    return measure, None


def _of_stand_in() -> tuple[Measure, int]:
    """Read the stand-in's files by what transformers reads them with: itself it would load torch, for seconds."""
    from tokenizers import Tokenizer

    folder = shipped()
    template = Template((folder / TEMPLATE_FILE).read_text(encoding="utf-8"), trim_blocks=True, lstrip_blocks=True)
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))

    def measure(conversations: Sequence[list[Message]]) -> Iterable[int]:
        texts = [template.render(messages=each, add_generation_prompt=True) for each in conversations]
        return map(len, tokenizer.encode_batch_fast(texts, add_special_tokens=False))

    # Each of its tokens stands for at least one byte of UTF-8.
    empty = template.render(messages=as_messages("", ""), add_generation_prompt=True)
    return measure, len(empty.encode())
