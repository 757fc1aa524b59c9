"""Laptop stand-in for a downloaded base model: a Qwen-type model with a few million random weights.

It has the parts of the real one (byte-level BPE, chat template, rotary attention, gated feed-forward layers, tied
embeddings), so that every later stage runs the same code as on an L4. It knows only what its warm start taught.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from schemas.config.policy import PolicyConfig
from tasks.policy.published import chatml

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

PAD_TOKEN = "<|endoftext|>"  # noqa: S105 - no password
TURN_START = "<|im_start|>"
TURN_END = "<|im_end|>"
CONTEXT_TOKENS = 2048


def build_tokenizer(texts: Iterable[str], vocabulary_size: int) -> "PreTrainedTokenizerBase":
    """Train a byte-level BPE on the texts and give it the chat template of Qwen's family (ChatML).

    Args:
        texts: Texts that the model will read and write; never from the test split.
        vocabulary_size: Total tokens, including special tokens and the 256 bytes.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
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


def build_model(config: PolicyConfig, tokenizer: "PreTrainedTokenizerBase", seed: int) -> "PreTrainedModel":
    """Build the stand-in with random weights drawn from the seed, in float32."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    shape = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=config.hidden_size,
        intermediate_size=config.feed_forward_size,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.heads,
        max_position_embeddings=CONTEXT_TOKENS,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Qwen2ForCausalLM(shape)
