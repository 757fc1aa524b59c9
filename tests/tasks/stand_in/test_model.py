"""The model: its tokenizer's round trip, its chat template, and that the seed decides it."""

from tasks.policy.generate import as_messages
from tasks.stand_in.model import build_tokenizer

TEXTS = [
    "O pedido chegou atrasado e a embalagem veio rasgada.",
    "SELECT COUNT(*) FROM orders",
    '{"sentiment_score": 4}',
]
TOKENIZER = build_tokenizer(TEXTS * 20, 512)


def test_the_chat_template_is_chatml_and_ends_where_the_assistant_begins() -> None:
    rendered = TOKENIZER.apply_chat_template(
        as_messages("Seja breve.", "Oi"), tokenize=False, add_generation_prompt=True
    )
    assert rendered == (
        "<|im_start|>system\nSeja breve.<|im_end|>\n<|im_start|>user\nOi<|im_end|>\n<|im_start|>assistant\n"
    )
