"""The runner: what fails, what is left out, and what it says."""

from collections import Counter

import pytest

from schemas.documents import Rollout, ScoredRollout
from tasks.audit.alterations import run
from tasks.audit.alterations.bounds import Bound
from tasks.audit.alterations.library import Alteration, Judged, around
from tasks.audit.alterations.run import run_alterations
from tests.tasks.audit.alterations.prompts import prompts, score


@pytest.mark.parametrize(("judged", "passed"), [("worst", False), ("most", True), ("mean", True)])
def test_one_prompt_of_many_decides_only_where_the_worst_is_judged(
    monkeypatch: pytest.MonkeyPatch, judged: Judged, passed: bool
) -> None:
    known = prompts("sentiment")
    alteration = Alteration("fixed", around("x"), Bound("at most", 0.15), judged=judged)
    monkeypatch.setattr(run, "ALTERATIONS", {"sentiment": (alteration,)})

    def pays_once(rollout: Rollout) -> ScoredRollout:
        scored = score("sentiment")(rollout)
        if rollout.prompt != known[3].prompt or rollout.completion != "x":
            return scored
        return scored.model_copy(update={"components": dict.fromkeys(scored.components, 1.0), "reward": 1.0})

    probes = run_alterations("sentiment", known, pays_once)
    assert probes["fixed"].passed is passed
    assert "must be: at most 0.15" in probes["fixed"].detail
    assert probes["weighted sum"].passed and probes["repeatable"].passed


def test_a_bound_is_beside_the_same_prompts_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    alteration = Alteration("fixed", around("x"), Bound("costs", 0.05), around("y"))
    monkeypatch.setattr(run, "ALTERATIONS", {"sentiment": (alteration,)})
    first, second = prompts("sentiment")[:2]

    def score_of(rollout: Rollout) -> ScoredRollout:
        reward = 1.0 if (rollout.prompt, rollout.completion) == (first.prompt, "y") else 0.5
        return score("sentiment")(rollout).model_copy(update={"reward": reward})

    assert run_alterations("sentiment", [first], score_of)["fixed"].passed
    assert not run_alterations("sentiment", [first, second], score_of)["fixed"].passed


def test_a_reward_that_is_no_weighted_sum_or_changes_is_named() -> None:
    asked: Counter[str] = Counter()

    def grows(rollout: Rollout) -> ScoredRollout:
        scored, key = score("sentiment")(rollout), f"{rollout.prompt}{rollout.completion}"
        asked[key] += 1
        return scored.model_copy(update={"reward": asked[key] * (scored.reward + 0.01)})

    probes = run_alterations("sentiment", prompts("sentiment")[:3], grows)
    assert not probes["weighted sum"].passed
    assert not probes["repeatable"].passed
