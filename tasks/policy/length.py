"""Prompt length in tokens, with system text and chat template, up to the start of the answer.

Most prompts need no tokenizer: every token of a byte-level BPE stands for at least one byte of UTF-8, so a prompt has
at most as many tokens as bytes.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
        """Return, for each row, whether its prompt takes more tokens than allowed.

        Raises:
            InputError: The policy's tokenizer cannot be read, or cannot render a prompt.
        """
        measure = _measure(self.policy)
        if not measure.bounded:
            return (measure.count(table) > most_tokens).alias("too_long")
        doubtful = (measure.most_tokens(table) > most_tokens).alias("too_long")
        if not doubtful.any():
            return doubtful
        rows = doubtful.arg_true()
        return doubtful.scatter(rows, measure.count(table[rows]) > most_tokens)

    def tokens(self, table: pl.DataFrame) -> pl.Series:
        """Return, for each row, its prompt's tokens; InputError as `too_long`."""
        return _measure(self.policy).count(table)


@dataclass(frozen=True)
class _Reader:
    """Chat template and tokenizer of a policy."""

    render: Callable[[list[Message]], str]
    count: Callable[[list[str]], Iterable[int]]
    """Returns the tokens of each text."""
    backend: Any
    """The tokenizer of the library `tokenizers`; None if it has none."""


@dataclass(frozen=True)
class _Measure:
    """Reader of a policy and the bounds of its tokens, loaded once per process."""

    reader: _Reader
    bounded: bool
    """Whether a prompt has at most as many tokens as bytes."""
    template_tokens: int = 0
    """The most tokens that the chat template itself adds."""
    forms: tuple[NormalForm, ...] = ()
    """Normal forms that the tokenizer applies, which can make a text longer."""

    def most_tokens(self, table: pl.DataFrame) -> pl.Series:
        system, prompt = (self._most_bytes(pl.col(name)) for name in ("system", "prompt"))
        return table.select(tokens=(system + prompt + self.template_tokens).cast(pl.UInt32)).to_series()

    def _most_bytes(self, text: pl.Expr) -> pl.Expr:
        normalized = (text.str.normalize(form).str.len_bytes() for form in self.forms)
        return pl.max_horizontal(text.str.len_bytes(), *normalized)

    def count(self, table: pl.DataFrame) -> pl.Series:
        counts: list[int] = []
        for part in table.select("system", "prompt").iter_slices(ROWS_AT_ONCE):
            rendered = [self.reader.render(as_messages(system, prompt)) for system, prompt in part.rows()]
            counts += self.reader.count(rendered)
        return pl.Series("tokens", counts, pl.UInt32)


@lru_cache(maxsize=2)
def _measure(policy: str) -> _Measure:
    config = PolicyConfig.model_validate_json(policy)
    reader = _of_stand_in() if config.stand_in else _of_published(config)
    rendered = reader.render(as_messages(_SYSTEM_MARK, _PROMPT_MARK))
    verbatim = rendered.count(_SYSTEM_MARK) == 1 and rendered.count(_PROMPT_MARK) == 1
    forms = _forms_within_bytes(reader.backend)
    if forms is None or not verbatim:
        return _Measure(reader, bounded=False)
    own = rendered.replace(_SYSTEM_MARK, "").replace(_PROMPT_MARK, "")
    return _Measure(reader, bounded=True, template_tokens=len(own.encode()), forms=forms)


def _of_published(config: PolicyConfig) -> _Reader:
    tokenizer = read_tokenizer(config, given_template(config))

    def render(messages: list[Message]) -> str:
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    def count(texts: list[str]) -> Iterable[int]:
        encoded = tokenizer(texts, add_special_tokens=False, return_attention_mask=False, verbose=False)
        return map(len, encoded["input_ids"])

    return _Reader(render, count, getattr(tokenizer, "backend_tokenizer", None))


def _of_stand_in() -> _Reader:
    """Read the stand-in's files by what transformers reads them with: itself it would load torch, for seconds."""
    from tokenizers import Tokenizer

    folder = shipped()
    template = Template((folder / TEMPLATE_FILE).read_text(encoding="utf-8"), trim_blocks=True, lstrip_blocks=True)
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))

    def render(messages: list[Message]) -> str:
        return str(template.render(messages=messages, add_generation_prompt=True))

    def count(texts: list[str]) -> Iterable[int]:
        return (len(encoded) for encoded in tokenizer.encode_batch_fast(texts, add_special_tokens=False))

    return _Reader(render, count, tokenizer)


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
