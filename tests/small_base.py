"""A real, tiny base on disk: random weights of the stand-in, and a tokenizer of one sentence."""

from pathlib import Path

from schemas.config.policy import PolicyConfig

SMALL = PolicyConfig(stand_in=True, vocabulary_size=512, hidden_size=32, layers=1, heads=2, feed_forward_size=32)


def save_base(folder: Path, policy: PolicyConfig = SMALL) -> Path:
    """Save a stand-in and its tokenizer as `save_pretrained` writes them, the same ones at each call."""
    from tasks.policy.stand_in import build_model, build_tokenizer

    tokenizer = build_tokenizer(["o pedido chegou atrasado, mas o produto é ótimo"] * 50, policy.vocabulary_size)
    build_model(policy, tokenizer, 3).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
