"""Prompt length in tokens, with system text and chat template, up to the start of the answer.

Most prompts need no tokenizer: every token of a byte-level BPE stands for at least one byte of UTF-8, so a prompt has
at most as many tokens as bytes.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Literal, get_args

import polars as pl
from jinja2 import Template

from schemas.config.policy import PolicyConfig
from tasks.policy.generate import Message, as_messages
from tasks.policy.published import given_template, read_tokenizer
from tasks.policy.stand_in import TEMPLATE_FILE, TOKENIZER_FILE, shipped

ROWS_AT_ONCE: Final = 1_000
_SYSTEM_MARK: Final = "SYSTEM-TEXT"
_PROMPT_MARK: Final = "PROMPT-TEXT"

NormalForm = Literal["NFC", "NFKC"]


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
            most = pl.sum_horizontal(measure.most_bytes("system"), measure.most_bytes("prompt"))
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
    forms: tuple[NormalForm, ...] = ()
    """Normal forms that the tokenizer applies, which can make a text longer."""

    def most_bytes(self, column: str) -> pl.Expr:
        text = pl.col(column)
        return pl.max_horizontal(
            text.str.len_bytes(), *(text.str.normalize(form).str.len_bytes() for form in self.forms)
        )

    def count(self, table: pl.DataFrame) -> pl.Series:
        counts: list[int] = []
        for part in table.select("system", "prompt").iter_slices(ROWS_AT_ONCE):
            counts += self.encode([self.render(as_messages(system, prompt)) for system, prompt in part.rows()])
        return pl.Series("tokens", counts, pl.UInt32)


@lru_cache(maxsize=2)
def _measure(policy: str) -> _Measure:
    config = PolicyConfig.model_validate_json(policy)
    measure, backend = _of_stand_in() if config.stand_in else _of_published(config)
    rendered = measure.render(as_messages(_SYSTEM_MARK, _PROMPT_MARK))
    forms = _forms_within_bytes(backend)
    if forms is None or rendered.count(_SYSTEM_MARK) != 1 or rendered.count(_PROMPT_MARK) != 1:
        return measure
    own = rendered.replace(_SYSTEM_MARK, "").replace(_PROMPT_MARK, "")
    return replace(measure, template_bytes=len(own.encode()), forms=forms)


def _of_published(config: PolicyConfig) -> tuple[_Measure, Any]:
    tokenizer = read_tokenizer(config, given_template(config))

    def render(messages: list[Message]) -> str:
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    def encode(texts: list[str]) -> Iterable[int]:
        encoded = tokenizer(texts, add_special_tokens=False, return_attention_mask=False, verbose=False)
        return map(len, encoded["input_ids"])

    return _Measure(render, encode), getattr(tokenizer, "backend_tokenizer", None)


def _of_stand_in() -> tuple[_Measure, Any]:
    """Read the stand-in's files by what transformers reads them with: itself it would load torch, for seconds."""
    from tokenizers import Tokenizer

    folder = shipped()
    template = Template((folder / TEMPLATE_FILE).read_text(encoding="utf-8"), trim_blocks=True, lstrip_blocks=True)
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))

    def render(messages: list[Message]) -> str:
        return str(template.render(messages=messages, add_generation_prompt=True))

    def encode(texts: list[str]) -> Iterable[int]:
        return map(len, tokenizer.encode_batch_fast(texts, add_special_tokens=False))

    return _Measure(render, encode), tokenizer


def _forms_within_bytes(backend: Any) -> tuple[NormalForm, ...] | None:
    """Return the normal forms of a byte-level BPE that adds nothing to a text; None for other tokenizers."""
    from tokenizers.models import BPE

    if backend is None or not isinstance(backend.model, BPE):
        return None
    steps = _steps(backend.pre_tokenizer, "pretokenizers")
    adds_space = any(step.get("add_prefix_space") for step in steps)
    normalizers = [step["type"] for step in _steps(backend.normalizer, "normalizers")]
    if adds_space or not any(step["type"] == "ByteLevel" for step in steps):
        return None
    return tuple(normalizers) if set(normalizers) <= set(get_args(NormalForm)) else None


def _steps(part: Any, inner: str) -> list[dict[str, Any]]:
    """Return the settings of a tokenizer's part, which only its pickled form exposes."""
    if part is None:
        return []
    settings = json.loads(part.__getstate__())
    return settings[inner] if settings["type"] == "Sequence" else [settings]
