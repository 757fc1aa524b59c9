"""A model in this process answers what it can read."""

from dataclasses import replace

import pytest
from transformers import AutoConfig

from schemas.errors import InputError
from tasks.serve.answerer import Answerer
from tasks.serve.questions import question_of
from tasks.serve.served_model import Decoding, ServedModel
from tests.gateway import served_model
from tests.small_base import save_base


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> ServedModel:
    return served_model(weights=save_base(tmp_path_factory.mktemp("base")), decoding=Decoding(0.1, 8))


def test_a_prompt_that_the_model_cannot_read_whole_is_refused_before_any_is_answered(served: ServedModel) -> None:
    answered: list[int] = []
    rows = [question_of("sentiment", {"review": review}) for review in ("o pedido", "pedido " * 700)]
    # Of the model's positions, 400 are left for a prompt.
    max_tokens = AutoConfig.from_pretrained(served.weights).max_position_embeddings - 400
    answerer = Answerer(replace(served, decoding=Decoding(0.1, max_tokens)), "sentiment")
    with pytest.raises(InputError, match=r"prompt 2 of 2 has \d+ tokens, and the model reads 400 before an answer"):
        answerer.answer(rows, lambda done, _total, _text: answered.append(done))
    assert answered == []
