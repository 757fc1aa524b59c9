"""Models of a shape with random weights; nothing but torch and transformers is imported."""

from typing import TYPE_CHECKING, Any

from benchmarks.gpu_check.scale import SEED
from tasks.train.sizing.shape import DecoderShape

if TYPE_CHECKING:
    import torch

CONTEXT_TOKENS = 4096


def build(shape: DecoderShape, device: str, dtype: "torch.dtype", **more: Any) -> Any:
    """Return a model of a shape, created on its device.

    Args:
        shape: The decoder.
        device: `cuda` or `cpu`.
        dtype: Type of its weights.
        **more: Settings of its configuration, such as its special tokens.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(
        shape.kind,
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        intermediate_size=shape.feed_forward,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_value_heads,
        head_dim=shape.head_size,
        max_position_embeddings=CONTEXT_TOKENS,
        tie_word_embeddings=shape.tied,
        bos_token_id=None,
        **more,
    )
    with torch.random.fork_rng(), torch.device(device):
        torch.manual_seed(SEED)
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    if model.num_parameters() != shape.parameters:
        raise AssertionError(f"the model has {model.num_parameters():,} weights, and its shape {shape.parameters:,}")
    return model
