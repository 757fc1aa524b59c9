"""Scores of a step's answers beside each other: one answer alone says nothing of variety."""

from collections.abc import Sequence

from schemas.documents import ScoredRollout
from schemas.tasks import SpecName
from tasks.commerce.push.cited.step_reward import StepReward
from tasks.commerce.registry import reward_of


def score_beside(scored: Sequence[ScoredRollout], spec: SpecName = "grounded") -> list[ScoredRollout]:
    """Return a step's scored rollouts with what the others decide of each one's reward, in the same order."""
    found = list(scored)
    for task in dict.fromkeys(rollout.task for rollout in scored):
        reward = reward_of(task, spec)
        if isinstance(reward, StepReward):
            places = [place for place, rollout in enumerate(scored) if rollout.task == task]
            shares = reward.among([scored[place].completion for place in places])
            for place, share in zip(places, shares, strict=True):
                known = scored[place].components
                components = {**known, reward.component: share * known[reward.component]}
                found[place] = scored[place].model_copy(
                    update={"components": components, "reward": reward.total(components)}
                )
    return found
