"""A step's rollouts: their totals are the tasks' rewards, whatever is taken out of them or put in."""

import math
import random
from itertools import chain
from typing import Any, get_args

import pytest
import torch
from trl.trainer.utils import shuffle_sequence_dict, split_tensor_dict

from schemas.documents import ScoredRollout
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.commerce.registry import reward_of
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.train.grpo.rewards import ComponentRewards
from tasks.train.grpo.rollouts import before_shuffle, whole_batch
from tests.tasks.curate.prompt_rows import reference_for
from tests.tasks.train.small_training import prompt_rows, rollout_groups, scored_rollout

ROW = prompt_rows("push", each=1)[0]


def _scored(task: TaskName, spec: SpecName, generator: random.Random) -> ScoredRollout:
    """Return a rollout that earned any components."""
    reward = reward_of(task, spec)
    components = {name: generator.random() for name in reward.weights}
    reference = dict(reference_for(task, ROW.prompt))
    total = reward.total(components)
    return scored_rollout(ROW, total, task=task, reference=reference, components=components, spec=spec)


@pytest.mark.parametrize("spec", get_args(SpecName))
def test_the_total_of_each_completion_is_its_reward(spec: SpecName) -> None:
    """The components of other tasks abstain."""
    generator, rewards = random.Random(4), ComponentRewards(Databases(()), spec)
    scored = [_scored(task, spec, generator) for task in (*TASK_NAMES, *TASK_NAMES) for _ in range(3)]
    components = rewards.components(scored)
    whole = rollout_groups(scored, components, rewards.weights, [ROW] * len(scored), 3)
    swapped = whole.replaced(
        {0: whole.groups[5], 2: [whole.groups[1][0].with_answer([1], scored[0], components[0])] * 3}
    )
    for rollouts in (whole, swapped):
        earned = [rollout.scored.reward for rollout in rollouts.rollouts]
        assert list(chain.from_iterable(rollouts.rewards())) == pytest.approx(earned, rel=1e-5)


@pytest.mark.parametrize(
    ("components", "weights", "spread"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], [0.75, 0.25], 0.25),
        ([[0.2, 0.9], [0.8, 0.7]], [0.25, 0.75], 0.0),
        ([[0.5, 1.0], [0.5, 0.0]], [1.0, 0.0], 0.0),
        ([[math.nan, 0.4], [math.nan, 0.8]], [0.5, 0.5], 0.1),
    ],
)
def test_groups_spread_by_weighted_rewards(components: list[list[float]], weights: list[float], spread: float) -> None:
    """Where they earned the same, dynamic sampling draws others."""
    scored = [scored_rollout(ROW, 0.0)] * len(components)
    found = rollout_groups(scored, components, weights, [ROW] * len(components), 2)
    assert found.spreads() == pytest.approx([spread], abs=1e-6)


def test_a_shuffled_and_split_batch_is_whole_and_in_order_again() -> None:
    batch: dict[str, Any] = {
        "ids": torch.arange(16).view(8, 2),
        "names": [f"n{place}" for place in range(8)],
        "items": torch.tensor(5),
        "images": None,
    }
    random_state = torch.get_rng_state()
    given = before_shuffle(batch)
    assert torch.equal(torch.get_rng_state(), random_state)
    found = whole_batch(split_tensor_dict(shuffle_sequence_dict(given), 4))
    assert found.keys() == batch.keys()
    assert not torch.equal(given["ids"], batch["ids"])
    assert torch.equal(found["ids"], batch["ids"])
    assert (found["names"], found["images"], found["items"].item()) == (batch["names"], None, 5)
