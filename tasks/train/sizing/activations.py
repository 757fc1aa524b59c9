"""Activations that a forward pass keeps for the backward pass, in bytes, by shape and recipe.

Imports nothing heavy.
"""

from dataclasses import dataclass
from math import ceil, gcd
from typing import Final

from schemas.config.train import GradientCheckpointing, TrainConfig
from tasks.train.sizing.decoder_shape import BFLOAT16_BYTES, DecoderShape

FLOAT32_BYTES: Final = 4


@dataclass(frozen=True)
class PackedSize:
    """Size of a packed row."""

    prompts: int
    completions: int
    prompt_tokens: int
    """Of each prompt, but its last one, which stands before each completion."""
    completion_tokens: int
    """Of each completion."""

    @classmethod
    def of_pass(cls, config: TrainConfig, prompt_tokens: int) -> "PackedSize":
        """Return the largest row of a pass, in which groups stand in order.

        Args:
            config: The recipe.
            prompt_tokens: Tokens of the longest prompt.
        """
        completions, group = config.completions_per_pass, config.generations
        # A pass may begin within a group, where the passes before it have ended.
        latest = group - gcd(group, completions)
        prompts = ceil((latest + completions) / group)
        return cls(prompts, completions, max(0, prompt_tokens - 1), config.max_completion_tokens)

    @property
    def tokens(self) -> int:
        """Return the tokens of the row."""
        return self.prompts * self.prompt_tokens + self.completions * self.completion_tokens


def kept_bytes(
    shape: DecoderShape, rank: int, sequences: int, sequence: int, number: int, checkpointing: GradientCheckpointing
) -> int:
    """Return the bytes that all layers keep of a plain forward pass for the backward pass, at the peak.

    Args:
        shape: The base model.
        rank: LoRA's r.
        sequences: Sequences of the pass.
        sequence: Tokens of each.
        number: Bytes of a number in the computation type.
        checkpointing: The gradient checkpointing method.
    """
    tokens = sequences * sequence
    return _of_layers(shape, tokens, tokens * activation_bytes(shape, rank, sequence, number), number, checkpointing)


def packed_bytes(
    shape: DecoderShape, rank: int, row: PackedSize, number: int, checkpointing: GradientCheckpointing
) -> int:
    """Return the bytes that all layers keep of a packed row, at the peak, as `kept_bytes` does of a plain pass.

    Attention keeps its tensors twice: the row's, and the rectangles of the completions with their prompts' keys and
    values, which are not repeated for the heads that share them; and a mask for each prompt.

    Args:
        shape: The base model.
        rank: LoRA's r.
        row: Its size.
        number: Bytes of a number in the computation type.
        checkpointing: The gradient checkpointing method.
    """
    query, key = shape.query_width, shape.key_width
    own = row.completions * row.completion_tokens
    keys = row.prompt_tokens + row.completion_tokens
    attention = row.tokens * (query + 2 * key) + row.prompts * row.prompt_tokens * query
    attention += own * 3 * query + row.completions * keys * 2 * key
    attention += row.prompts * shape.heads // shape.key_value_heads * row.completion_tokens * keys
    of_layer = row.tokens * _beside_attention(shape, rank, number) + number * attention
    return _of_layers(shape, row.tokens, of_layer, number, checkpointing)


def activation_bytes(shape: DecoderShape, rank: int, sequence: int, number: int) -> int:
    """Return the bytes that one layer keeps of one token of a plain pass for the backward pass.

    Of attention: queries, keys and values for every head, and a row of the mask; in bfloat16 its output in its own
    layout as well.

    Args:
        shape: The base model.
        rank: LoRA's r.
        sequence: Tokens of a sequence.
        number: Bytes of a number in the computation type.
    """
    attention = (4 if number == BFLOAT16_BYTES else 3) * shape.query_width + sequence
    return _beside_attention(shape, rank, number) + number * attention


def _beside_attention(shape: DecoderShape, rank: int, number: int) -> int:
    """Return the bytes that one layer keeps of one token, but attention's own tensors.

    In the computation type: the inputs of the adapter's maps, its inner values, and the gate before and after its
    activation with its multiplicand. In float32 always: the inputs of the norms and their scales, and attention's
    log-sum. Maps that read the same state share it in float32; in bfloat16 autocast copies it for each adapter.
    """
    query, inner = shape.query_width, shape.feed_forward
    copied = number == BFLOAT16_BYTES
    inputs = sum(taken for taken, _ in shape.linear_shapes) if copied else 2 * shape.width + query + inner
    exact = 2 * (shape.width + 1) + shape.heads
    if shape.kind == "qwen3":
        exact += query + shape.key_width + shape.heads + shape.key_value_heads
    return number * (inputs + len(shape.linear_shapes) * rank + 3 * inner) + FLOAT32_BYTES * exact


def _of_layers(
    shape: DecoderShape, tokens: int, of_layer: int, number: int, checkpointing: GradientCheckpointing
) -> int:
    """Return what all layers keep at the peak, where each keeps so much alone.

    With checkpointing they keep their inputs, and one layer at a time all else; Unsloth moves the inputs to the host.
    """
    inputs = tokens * shape.width * number
    return {
        "none": shape.layers * of_layer,
        "torch": shape.layers * inputs + of_layer,
        # One layer's inputs are transferred while another's are used.
        "unsloth": 2 * inputs + of_layer,
    }[checkpointing]
