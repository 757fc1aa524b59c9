"""Prompt length in tokens, with system text and chat template, up to the start of the answer.

Most prompts need no tokenizer: every token of a byte-level BPE stands for at least one byte of UTF-8, so a prompt has
at most as many tokens as bytes.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import polars as pl
from jinja2 import Template

from schemas.config.policy import PolicyConfig
from tasks.policy.generate import Message, as_messages
from tasks.policy.published import given_template, read_tokenizer
from tasks.policy.stand_in import TEMPLATE_FILE, shipped

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

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

        Args:
            table: Rows with `system` and `prompt`, neither null.
            most_tokens: The budget, inclusive.

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
        """Return, for each row, its prompt's tokens.

        Args:
            table: Rows with `system` and `prompt`, neither null.

        Raises:
            InputError: The policy's tokenizer cannot be read, or cannot render a prompt.
        """
        return _measure(self.policy).count(table)


@dataclass(frozen=True)
class _Measure:
    """Tokenizer and its bounds, once per process."""

    policy: str
    """The policy's configuration as JSON."""
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
            tokenizer = _tokenizer(self.policy)
            rendered = _render(tokenizer, [as_messages(system, prompt) for system, prompt in part.rows()])
            encoded = tokenizer(rendered, add_special_tokens=False, return_attention_mask=False, verbose=False)
            counts += map(len, encoded["input_ids"])
        return pl.Series("tokens", counts, pl.UInt32)


@lru_cache(maxsize=2)
def _measure(policy: str) -> _Measure:
    if PolicyConfig.model_validate_json(policy).stand_in:
        # Its parts are known, so that its tokenizer, and with it torch, is loaded for long prompts alone.
        template = Template((shipped() / TEMPLATE_FILE).read_text(encoding="utf-8"))
        own = template.render(messages=as_messages("", ""), add_generation_prompt=True)
        return _Measure(policy, bounded=True, template_tokens=len(own.encode()))
    tokenizer = _tokenizer(policy)
    (rendered,) = _render(tokenizer, [as_messages(_SYSTEM_MARK, _PROMPT_MARK)])
    verbatim = rendered.count(_SYSTEM_MARK) == 1 and rendered.count(_PROMPT_MARK) == 1
    forms = _forms_within_bytes(tokenizer)
    if forms is None or not verbatim:
        return _Measure(policy, bounded=False)
    own = rendered.replace(_SYSTEM_MARK, "").replace(_PROMPT_MARK, "")
    return _Measure(policy, bounded=True, template_tokens=len(own.encode()), forms=forms)


@lru_cache(maxsize=2)
def _tokenizer(policy: str) -> "PreTrainedTokenizerBase":
    config = PolicyConfig.model_validate_json(policy)
    return read_tokenizer(config, given_template(config))


def _render(tokenizer: "PreTrainedTokenizerBase", conversations: list[list[Message]]) -> list[str]:
    rendered: list[str] = tokenizer.apply_chat_template(conversations, tokenize=False, add_generation_prompt=True)
    return rendered


def _forms_within_bytes(tokenizer: "PreTrainedTokenizerBase") -> tuple[NormalForm, ...] | None:
    """Return the normal forms of a byte-level BPE that adds nothing to a text; None for other tokenizers."""
    from tokenizers.models import BPE

    backend = getattr(tokenizer, "backend_tokenizer", None)
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
