"""The runner: what fails, what is left out, and what it says."""

import pytest

from schemas.documents import Rollout, ScoredRollout
from tasks.audit.alterations import run
from tasks.audit.alterations.library import Alteration, Bound, Judged, around
from tasks.audit.alterations.run import run_alterations
from tests.tasks.audit.alterations.prompts import prompts, score


def test_sound_rewards_pass_and_each_probe_says_what_it_did() -> None:
    probes = run_alterations("insights", prompts("insights"), score("insights"))
    assert all(probe.passed for probe in probes.values())
    assert "must be: at most of 0.5" in probes["fact turned"].detail
    assert {"weighted sum", "repeatable", "right answer", "highest of each column"} <= probes.keys()


@pytest.mark.parametrize(("judged", "passed"), [("worst", False), ("most", True), ("mean", True)])
def test_one_prompt_of_many_decides_only_where_the_worst_is_judged(
    monkeypatch: pytest.MonkeyPatch, judged: Judged, passed: bool
) -> None:
    known = prompts("sentiment")
    alteration = Alteration("fixed", "Is fixed.", around("x"), Bound("at most", 0.15), judged=judged)
    monkeypatch.setattr(run, "ALTERATIONS", {"sentiment": (alteration,)})

    def pays_once(rollout: Rollout) -> ScoredRollout:
        scored = score("sentiment")(rollout)
        if rollout.prompt != known[3].prompt or rollout.completion != "x":
            return scored
        return scored.model_copy(update={"components": dict.fromkeys(scored.components, 1.0), "reward": 1.0})

    probes = run_alterations("sentiment", known, pays_once)
    assert probes["fixed"].passed is passed
    assert probes["weighted sum"].passed


def test_a_bound_is_beside_the_same_prompts_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    alteration = Alteration("fixed", "Is fixed.", around("x"), Bound("costs", 0.05), around("y"))
    monkeypatch.setattr(run, "ALTERATIONS", {"sentiment": (alteration,)})
    first, second = prompts("sentiment")[:2]

    def score_of(rollout: Rollout) -> ScoredRollout:
        reward = 1.0 if (rollout.prompt, rollout.completion) == (first.prompt, "y") else 0.5
        return score("sentiment")(rollout).model_copy(update={"reward": reward})

    assert run_alterations("sentiment", [first], score_of)["fixed"].passed
    assert not run_alterations("sentiment", [first, second], score_of)["fixed"].passed


def test_a_reward_that_is_no_weighted_sum_is_named() -> None:
    def doubled(rollout: Rollout) -> ScoredRollout:
        scored = score("sentiment")(rollout)
        return scored.model_copy(update={"reward": 2 * scored.reward})

    probes = run_alterations("sentiment", prompts("sentiment")[:3], doubled)
    assert not probes["weighted sum"].passed
