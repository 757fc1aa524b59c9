"""A real, tiny model answers questions, and each answer is read, checked and, with a reference, scored."""

from dataclasses import replace

import pytest
from transformers import AutoConfig

from schemas.errors import InputError
from schemas.progress import silent
from schemas.tables.prompts import PromptRow
from tasks.serve.answerer import Answerer
from tasks.serve.questions import question_of
from tasks.serve.served_model import Decoding, ServedModel
from tests.small_base import save_base


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> ServedModel:
    return ServedModel(
        name="version 1",
        number="1",
        version_name="shop/1",
        weights=save_base(tmp_path_factory.mktemp("base")),
        policy=None,
        decoding=Decoding(temperature=0.1, max_tokens=8),
        batch_size=2,
        seed=1,
        store=None,
        spec="grounded",
        unlearned={},
    )


@pytest.fixture(scope="module")
def answerer(served: ServedModel) -> Answerer:
    return Answerer(served, "sentiment")


def _asked(*reviews: str, known: bool = False) -> list[PromptRow]:
    reference = {"polarity": "negative", "score": 1} if known else None
    return [question_of("sentiment", {"review": review}, reference=reference) for review in reviews]


def test_an_answer_without_a_form_is_not_shown_and_with_a_reference_it_is_scored(answerer: Answerer) -> None:
    (answer,) = answerer.answer(_asked("o pedido chegou"), silent)
    assert (answer.text, answer.checked, bool(answer.reason)) == (None, False, True)
    assert (answer.reward, answer.components) == (None, None)
    (answer,) = answerer.answer(_asked("o pedido chegou", known=True), silent)
    assert answer.reward == pytest.approx(0.0, abs=0.2)
    assert answer.components is not None
    assert "polarity" in answer.components


def test_a_prompt_that_the_model_cannot_read_whole_is_refused_before_any_is_answered(served: ServedModel) -> None:
    answered: list[int] = []
    # Of the model's positions, 400 are left for a prompt.
    max_tokens = AutoConfig.from_pretrained(served.weights).max_position_embeddings - 400
    answerer = Answerer(replace(served, decoding=Decoding(0.1, max_tokens)), "sentiment")
    with pytest.raises(InputError, match=r"prompt 2 of 2 has \d+ tokens, and the model reads 400 before an answer"):
        answerer.answer(_asked("o pedido", "pedido " * 700), lambda done, _total, _text: answered.append(done))
    assert answered == []
