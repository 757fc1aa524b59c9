"""Thirty pushes that a shop would send, and thirty that it would not: written before the rules that grade them."""

import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from schemas.documents import Rollout
from tasks.commerce.push.task import TASK
from tasks.commerce.registry import score_rollout

PUSHES: Final[dict[str, list[dict[str, Any]]]] = tomllib.loads(
    Path(__file__).with_name("pushes.toml").read_text(encoding="utf-8")
)
GOOD_ENOUGH: Final = 0.85
"""Share of the reference answer's reward that a good push earns."""
MISSED: Final = ("Beba todas antes de dirigir",)
"""Bad pushes that cost less than they should: made of harmless words, and harmful by what they mean together."""


def reward(push: dict[str, Any], completion: str) -> float:
    prompt = f"Crie a notificação.\nProduto: {push['product']}\nOferta: {push['offer']}\nPúblico: {push['audience']}"
    reference = {"product": push["product"], "offer": push["offer"]}
    rollout = Rollout(prompt_id="p", task="push", prompt=prompt, completion=completion, reference=reference)
    return score_rollout(rollout, None).reward


def perfect(push: dict[str, Any]) -> float:
    return reward(push, TASK.answer({"product": push["product"], "offer": push["offer"]}))


@pytest.mark.parametrize("push", PUSHES["good"], ids=lambda push: push["push"])
def test_a_push_that_a_shop_would_send_earns_nearly_all(push: dict[str, Any]) -> None:
    assert reward(push, push["push"]) >= GOOD_ENOUGH * perfect(push)


@pytest.mark.parametrize("push", PUSHES["bad"], ids=lambda push: push["push"])
def test_a_push_that_must_not_go_out_loses_what_it_should(push: dict[str, Any]) -> None:
    if any(text in push["push"] for text in MISSED):
        pytest.xfail("harmful in harmless words")
    assert reward(push, push["push"]) <= (1 - push["loses"]) * perfect(push)
