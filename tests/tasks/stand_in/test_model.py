"""The model: its tokenizer's round trip, its chat template, and that the seed decides it."""

import pytest

from tasks.policy.generate import as_messages
from tasks.stand_in.model import StandInShape, build_model, build_tokenizer

TEXTS = [
    "O pedido chegou atrasado e a embalagem veio rasgada.",
    "SELECT COUNT(*) FROM orders",
    '{"sentiment_score": 4}',
]
SMALL = StandInShape(vocabulary_size=512, hidden_size=32, layers=1, heads=2, key_value_heads=1, feed_forward_size=64)
TOKENIZER = build_tokenizer(TEXTS * 20, 512)


def test_the_chat_template_is_chatml_and_ends_where_the_assistant_begins() -> None:
    rendered = TOKENIZER.apply_chat_template(
        as_messages("Seja breve.", "Oi"), tokenize=False, add_generation_prompt=True
    )
    assert rendered == (
        "<|im_start|>system\nSeja breve.<|im_end|>\n<|im_start|>user\nOi<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize(("seed", "same"), [(1, True), (2, False)])
def test_the_seed_decides_the_weights_and_the_global_state_does_not(seed: int, same: bool) -> None:
    import torch

    first = build_model(SMALL, TOKENIZER, 1).state_dict()
    torch.manual_seed(99)
    second = build_model(SMALL, TOKENIZER, seed).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first) is same
