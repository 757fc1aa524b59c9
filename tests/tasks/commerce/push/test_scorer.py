"""Reward of pushes in phrases: nothing for a fault, and one opener for all is worth little within a step."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.documents import Rollout, ScoredRollout
from tasks.commerce.push.scorer import PushCampaign, shares_that_begin_otherwise
from tasks.commerce.registry import score_beside, score_rollout
from tests.tasks.commerce.push.campaigns import OF_MANY_KINDS, prompt_of

PET = PushCampaign("coleiras", "20% de desconto")
REST = "{produto}: {oferta}. Venha ver!"


def scored(template: str, campaign: PushCampaign) -> ScoredRollout:
    rollout = Rollout(prompt_id="p", task="push", prompt=prompt_of(campaign), completion=template)
    return score_rollout(rollout, None)


def rewards(pushes: Sequence[tuple[str, PushCampaign]]) -> list[float]:
    return [each.reward for each in score_beside([scored(*push) for push in pushes])]


def test_an_opener_of_the_group_is_best_and_a_fault_earns_nothing() -> None:
    earned = [
        scored(template, PET).reward
        for template in (f"Pensando no pet? {REST}", f"Oi! {REST}", REST, f"Hora da leitura. {REST}", "Oi!", "")
    ]
    assert earned[0] == 1.0
    assert earned[0] > earned[1] > earned[2] > earned[3] == earned[4] == earned[5] == 0.0
    assert scored(f"Oi! {REST}", PushCampaign("drones", "frete grátis")).reward == 1.0


@pytest.mark.parametrize("opener", ["Pensando no pet? ", "Oi! ", ""])
def test_one_opener_for_all_earns_little_within_a_step(opener: str) -> None:
    same = [(f"{opener}{rest}", campaign) for campaign in OF_MANY_KINDS for rest in (REST, "{produto}: {oferta}.")]
    for step in (same, [same[0]] * 8):
        assert max(rewards(step)) <= 0.6 + 1e-9


@given(st.lists(st.sampled_from(["", "Oi! ", "Olhe só! ", "Olá! "]), min_size=1, max_size=9), st.randoms())
def test_shares_are_of_the_others_and_know_no_order(openers: list[str], generator: random.Random) -> None:
    pushes = [f"{opener}{REST}" for opener in openers]
    shares = shares_that_begin_otherwise(pushes)
    assert all(0 <= share <= 1 for share in shares)
    order = list(range(len(pushes)))
    generator.shuffle(order)
    assert shares_that_begin_otherwise([pushes[place] for place in order]) == [shares[place] for place in order]


def test_a_step_leaves_other_tasks_and_their_order_alone() -> None:
    other = score_rollout(Rollout(prompt_id="s", task="sentiment", prompt="?", completion="{}"), None)
    push = scored(f"Oi! {REST}", PET)
    found = score_beside([push, other, push])
    assert found[1] is other
    assert [each.task for each in found] == ["push", "sentiment", "push"]
    assert found[0].reward == found[2].reward < push.reward
    assert found[0].components.keys() == push.components.keys()
    assert score_beside([push]) == [push]
