"""Which rollouts a step is trained on: groups that teach nothing are replaced, and hopeless ones are shown how."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from schemas.config.train import TrainConfig
from schemas.tables.prompts import PromptRow
from tasks.train.grpo.rollouts import RolloutGroups, SampledRollout
from tasks.train.grpo.sampling import RolloutSampler
from tests.tasks.train.small_training import RECIPE, prompt_rows, rollout_groups, scored_rollout

GENERATIONS = 4
DULL = [0.2] * GENERATIONS
LIVELY = [0.1, 0.2, 0.3, 0.4]


def _rollouts(prompts: Sequence[PromptRow], rewards: Sequence[Sequence[float]]) -> RolloutGroups:
    rows = [row for row in prompts for _ in range(GENERATIONS)]
    flat = [reward for group in rewards for reward in group]
    scored = [scored_rollout(row, reward) for row, reward in zip(rows, flat, strict=True)]
    return rollout_groups(scored, [[reward] for reward in flat], [1.0], rows, GENERATIONS)


class Policy:
    """Answers with rewards that are given beforehand, a list of groups for each time that it is asked."""

    def __init__(self, *rewards: list[list[float]]) -> None:
        waiting = list(rewards)
        self.rewards_of: Callable[[Sequence[PromptRow]], list[list[float]]] = lambda _: waiting.pop(0)
        self.asked: list[list[str]] = []
        self.corrections: list[dict[int, str]] = []

    def sample(self, prompts: Sequence[PromptRow]) -> RolloutGroups:
        self.asked.append([row.task for row in prompts])
        return _rollouts(prompts, self.rewards_of(prompts))

    def correct(self, sampled: RolloutGroups, answers: Mapping[int, str]) -> RolloutGroups:
        self.corrections.append(dict(answers))
        rollouts = sampled.rollouts
        for place in answers:
            right = scored_rollout(rollouts[place].row, 1.0)
            rollouts[place] = rollouts[place].with_answer([99], right, [1.0])
        left = iter(rollouts)
        return sampled.replaced({n: [next(left) for _ in group] for n, group in enumerate(sampled.groups)})


def _sampler(policy: Any, seed: int = 1, **recipe: Any) -> RolloutSampler:
    return RolloutSampler(TrainConfig.model_validate({**RECIPE, **recipe}), prompt_rows(each=20), seed, policy)


def _rewards(unused: Sequence[SampledRollout]) -> list[float]:
    return [rollout.scored.reward for rollout in unused]


def _earned(chosen: RolloutGroups) -> list[list[float]]:
    return [[round(reward, 6) for reward in group] for group in chosen.rewards()]


def test_a_group_that_teaches_nothing_is_replaced_by_one_of_its_task() -> None:
    policy = Policy([DULL, LIVELY], [[0.5, 0.6, 0.7, 0.8]])
    chosen, unused = _sampler(policy, dynamic_sampling={"extra_groups": 4}).choose(0)
    assert _earned(chosen) == [[0.5, 0.6, 0.7, 0.8], LIVELY]
    assert policy.asked[1] == policy.asked[0][:1]
    assert _rewards(unused) == DULL
    assert [row.task for row in chosen.rows] == policy.asked[0]


def test_a_hopeless_group_gets_the_right_answer_in_place_of_its_worst() -> None:
    policy = Policy([[0.2, 0.0, 0.1, 0.2], [0.2, 0.9, 0.1, 0.2]])
    chosen, unused = _sampler(policy, guided_correction={"share": 1.0, "threshold": 0.5}).choose(0)
    assert _earned(chosen) == [[0.2, 1.0, 0.1, 0.2], [0.2, 0.9, 0.1, 0.2]]
    assert [rollout.corrected for rollout in chosen.rollouts] == [False, True, *[False] * 6]
    assert list(policy.corrections[0]) == [1]
    assert _rewards(unused) == [0.0]


def test_the_sampler_of_task_weights_deals_out_the_prompts() -> None:
    policy = Policy(*[[LIVELY] * 4] * 6)
    sampler = _sampler(policy, task_weights={"applies_to": "sampler", "every": 1}, prompts_per_step=4)
    for step in range(6):
        sampler.choose(step)
    tasks = [task for asked in policy.asked for task in asked]
    assert tasks.count("push") == tasks.count("sentiment") == 12
