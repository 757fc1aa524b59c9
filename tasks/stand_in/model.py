"""Model and tokenizer of the stand-in, before any training: a Qwen3 with a few million random weights.

It has the parts of a real one (byte-level BPE with single digits, chat template, rotary attention with grouped queries,
norms of queries and keys, gated feed-forward layers, tied embeddings), so that every later stage runs the same code as
on an L4.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from tasks.policy.published import chatml

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

PAD_TOKEN = "<|endoftext|>"  # noqa: S105 - no password
TURN_START = "<|im_start|>"
TURN_END = "<|im_end|>"
CONTEXT_TOKENS = 2048


class StandInShape(BaseModel):
    """Size of the stand-in; the shipped one's where nothing else is given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    vocabulary_size: int = Field(default=4096, ge=512)
    """Tokens of its byte-level BPE, including special tokens and the 256 bytes."""
    hidden_size: int = Field(default=256, ge=32)
    """Width of the layers."""
    layers: int = Field(default=6, ge=1)
    """Decoder layers."""
    heads: int = Field(default=8, ge=1)
    """Attention heads of the queries."""
    key_value_heads: int = Field(default=4, ge=1)
    """Attention heads of keys and values."""
    feed_forward_size: int = Field(default=640, ge=32)
    """Width of the feed-forward layers."""


def build_tokenizer(texts: Iterable[str], vocabulary_size: int) -> "PreTrainedTokenizerBase":
    """Train a byte-level BPE on the texts and give it the chat template of Qwen's family (ChatML).

    As in Qwen's, each digit is a token: numbers are copied and compared digit by digit.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=[PAD_TOKEN, TURN_START, TURN_END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD_TOKEN,
        eos_token=TURN_END,
        padding_side="left",
        model_max_length=CONTEXT_TOKENS,
    )
    wrapped.chat_template = chatml()
    return wrapped


def build_model(shape: StandInShape, tokenizer: "PreTrainedTokenizerBase", seed: int) -> "PreTrainedModel":
    """Build the stand-in with random weights drawn from the seed, in float32."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden_size,
        intermediate_size=shape.feed_forward_size,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_value_heads,
        head_dim=shape.hidden_size // shape.heads,
        max_position_embeddings=CONTEXT_TOKENS,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(config)
