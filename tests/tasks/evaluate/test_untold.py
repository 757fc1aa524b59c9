"""Test prompts without a reference count for nothing, and a task that has no others holds the model."""

import pytest

from schemas.documents import Rollout
from schemas.errors import InputError
from tasks.evaluate.gate import PromotionGate
from tasks.evaluate.untold import UntoldPrompts, hold_where_untested, untold_prompts, with_reference

PROMOTED = PromotionGate("promote", ("better",))
KNOWN = {"polarity": "positive", "score": 5}


def answer(prompt: str, *, told: bool) -> Rollout:
    return Rollout(
        prompt_id=prompt, task="sentiment", prompt="Avaliação: bom", completion="{}", reference=KNOWN if told else None
    )


def test_only_answers_with_a_reference_are_scored_and_prompts_are_counted_once() -> None:
    answers = [answer("a", told=True), answer("b", told=False), answer("b", told=False)]
    assert [each.prompt_id for each in with_reference(answers)] == ["a"]
    assert untold_prompts(answers) == {"sentiment": UntoldPrompts(1, 2)}


def test_a_test_split_without_any_reference_cannot_be_evaluated() -> None:
    with pytest.raises(InputError, match="no prompt of the test split has a reference"):
        with_reference([answer("a", told=False)])


def test_a_task_that_is_not_tested_holds_whatever_was_decided() -> None:
    gate = hold_where_untested(PROMOTED, {"sentiment": UntoldPrompts(40, 40), "push": UntoldPrompts(3, 40)})
    assert gate.verdict == "hold"
    assert gate.reasons == (
        "sentiment is not tested: none of its 40 test prompts has a reference",
        "3 of 40 test prompts of push have no reference and count for nothing",
    )


def test_some_prompts_without_a_reference_are_named_and_decide_nothing() -> None:
    gate = hold_where_untested(PROMOTED, {"push": UntoldPrompts(3, 40)})
    assert gate.verdict == "promote"
    assert gate.reasons[0] == "better"
    assert "3 of 40" in gate.reasons[1]
    assert hold_where_untested(PROMOTED, {}) is PROMOTED
