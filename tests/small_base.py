"""A real, tiny base on disk: random weights of the stand-in, and a tokenizer of one sentence."""

from pathlib import Path

from tasks.stand_in.model import StandInShape

SMALL = StandInShape(vocabulary_size=512, hidden_size=32, layers=1, heads=2, key_value_heads=1, feed_forward_size=32)


def save_base(folder: Path, shape: StandInShape = SMALL) -> Path:
    """Save a stand-in and its tokenizer as `save_pretrained` writes them, the same ones at each call."""
    from tasks.stand_in.model import build_model, build_tokenizer

    tokenizer = build_tokenizer(["o pedido chegou atrasado, mas o produto é ótimo"] * 50, shape.vocabulary_size)
    build_model(shape, tokenizer, 3).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
