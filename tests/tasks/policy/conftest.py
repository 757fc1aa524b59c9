"""A real, tiny policy on disk, shared by the tests that generate."""

from pathlib import Path

import pytest

from schemas.config.policy import PolicyConfig

SMALL = PolicyConfig(stand_in=True, vocabulary_size=512, hidden_size=64, layers=1, heads=2, feed_forward_size=64)


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tasks.policy.stand_in import build_model, build_tokenizer

    folder = tmp_path_factory.mktemp("base")
    tokenizer = build_tokenizer(["o pedido chegou atrasado, mas o produto é ótimo"] * 50, 512)
    build_model(SMALL, tokenizer, 3).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
