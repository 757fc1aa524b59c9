"""Tiny tokenizers by the recipes that Tucano2's authors publish, and chat templates of the same structure.

Polygl0t's llm-foundry has two recipes: SentencePiece's BPE with bytes, read as a Llama's tokenizer, and a byte-level
BPE with NFC that also names byte_fallback and does not split a text before it merges. Both have four special tokens;
all others are added without being special, so that they stay in a decoded text. Facts are taken over, no file.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from schemas.source import REPOSITORY

Kind = Literal["sentencepiece", "byte-level", "byte-level words"]
"""The last splits a text into words first, as GPT-2 does, which the authors' byte-level recipe does not."""
KINDS: Final[tuple[Kind, ...]] = ("sentencepiece", "byte-level", "byte-level words")
SPECIAL: Final = ("<|unk|>", "<|im_start|>", "<|im_end|>", "<|pad|>")
UNKNOWN, BEGIN, END, PADDING = SPECIAL
MARKS: Final = (
    *(f"<{slash}{name}>" for name in ("tools", "tool_call", "tool_response", "think", "answer", "context")
      for slash in ("", "/")),
    *(f"<|{name}|>" for name in ("fim_prefix", "fim_suffix", "fim_middle", "repo_name")),
    *(f"<|{name}|>" for name in ("image", "image_pad", "image_placeholder")),
)  # fmt: skip
"""Tokens that are added and not special."""
BLANKS: Final = tuple(" " * number for number in range(24, 1, -1))
"""Indentation of code, added likewise."""
BYTES: Final = tuple(f"<0x{byte:02X}>" for byte in range(256))
PIECES: Final = 300
"""Pieces, or merged tokens, that are learnt."""

_SYSTEM = """{%- if messages[0].role == 'system' %}
  {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
"""
_TURNS = """{%- for message in messages %}
  {%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
  {%- elif message.role == 'assistant' %}
    {{- '<|im_start|>' + message.role }}
    {% generation %}
ANSWER
    {% endgeneration %}
  {%- endif %}
{%- endfor %}
"""
_CALLS = """
    {%- for call in message.tool_calls or [] %}
      {{- '\\n<tool_call>\\n{"name": "' + call.name + '", "arguments": ' }}
      {{- (call.arguments | tojson) + '}\\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>' }}"""
_THOUGHT = """    {%- if loop.last %}
      {{- '<think>\\n' + (message.reasoning_content or '') + '\\n</think>\\n\\n' + message.content.lstrip('\\n') }}
    {%- else %}
      {{- message.content }}
    {%- endif %}"""
_ASK = "{%- if add_generation_prompt %}\n  {{- '<|im_start|>assistant\\n' }}\n{%- endif %}"
_ASK_WITHOUT_THOUGHT = """{%- set enable_thinking = enable_thinking if enable_thinking is defined else false %}
{%- if add_generation_prompt %}
  {{- '<|im_start|>assistant\\n' }}
  {%- if not enable_thinking %}
    {{- '<think>\\n\\n</think>\\n\\n' }}
  {%- endif %}
{%- endif %}"""


def _template(answer: str, ask: str) -> str:
    return _SYSTEM + _TURNS.replace("ANSWER", answer) + ask


TEMPLATES: Final = {
    # Ends a turn with an empty line more than the others.
    "chat": _template("{{ message.content.strip('\\n') + '<|im_end|>\\n' }}", _ASK),
    "tools": _template("    {{- message.content }}" + _CALLS, _ASK),
    "reasoning": _template(_THOUGHT + _CALLS, _ASK),
    "hybrid": _template(_THOUGHT + _CALLS, _ASK_WITHOUT_THOUGHT),
}
WITHOUT_TURNS: Final = (
    "{% for message in messages %}{{ message.content }}{% if not loop.last %}\n\n{% endif %}{% endfor %}"
)
"""The fifth template that they publish: texts alone."""


def published_tokenizer(kind: Kind, template: str = "chat", *, begins: bool = False) -> Any:
    """Return a tokenizer with a template of `TEMPLATES`; one that begins puts BOS before every text."""
    from tokenizers import AddedToken
    from transformers import LlamaTokenizer, PreTrainedTokenizerFast

    ends = {"unk_token": UNKNOWN, "bos_token": BEGIN, "eos_token": END, "pad_token": PADDING, "padding_side": "left"}
    if kind == "sentencepiece":
        pieces, merges = _learnt_pieces()
        tokenizer = LlamaTokenizer(
            vocab=pieces, merges=merges, add_prefix_space=False, add_bos_token=begins, legacy=False, **ends
        )
    else:
        learnt = _learnt_bytes(split=kind == "byte-level words")
        if begins:
            from tokenizers.processors import TemplateProcessing

            marked = [(BEGIN, learnt.token_to_id(BEGIN))]
            learnt.post_processor = TemplateProcessing(single=f"{BEGIN} $A", special_tokens=marked)
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=learnt, clean_up_tokenization_spaces=False, **ends)
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in (*MARKS, *BLANKS)])
    tokenizer.chat_template = TEMPLATES[template]
    return tokenizer


def save_policy(folder: Path, tokenizer: Any, seed: int = 3) -> Path:
    """Save a tiny Qwen3 of random weights with a tokenizer, as a published model."""
    from tasks.stand_in.model import build_model
    from tests.small_base import SMALL

    build_model(SMALL, tokenizer, seed).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@cache
def texts() -> tuple[str, ...]:
    """Return the project's own general instructions: what the tokenizers learn from."""
    lines = (REPOSITORY / "data" / "general" / "demonstrations.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple("\n".join(json.loads(line).values()) for line in lines)


@cache
def _learnt_pieces() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Learn SentencePiece's pieces and merges: no piece has a digit beside anything, or a blank but at its start."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    learnt = Tokenizer(models.BPE())
    learnt.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Metaspace()]
    )
    learnt.train_from_iterator(texts(), trainers.BpeTrainer(vocab_size=PIECES, show_progress=False))
    found = json.loads(learnt.to_str())["model"]
    tokens = [UNKNOWN, BEGIN, END, *BYTES, *found["vocab"]]
    return {token: number for number, token in enumerate(tokens)}, [(left, right) for left, right in found["merges"]]


def _learnt_bytes(*, split: bool) -> Any:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    learnt = Tokenizer(models.BPE(byte_fallback=True))
    learnt.normalizer = normalizers.NFC()
    learnt.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=split)
    learnt.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=len(BYTES) + PIECES,
        special_tokens=[BEGIN, END, PADDING, UNKNOWN],
        # The authors' texts have every byte that a character is written with.
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    learnt.train_from_iterator(texts(), trainer)
    return learnt
