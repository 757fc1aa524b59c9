from pathlib import Path

import pytest

from schemas.documents import Rollout, ScoredRollout
from schemas.tasks import TASK_NAMES
from tasks.audit.probes.recorded import changes, read_recorded, record, recorded_scores
from tasks.audit.reward import reward_of
from tasks.audit.stage import shipped_files
from tasks.commerce.registry import score_rollout

REFERENCE = {"polarity": "positive", "score": 5}
ROLLOUTS = [
    Rollout(
        prompt_id=f"p{score}",
        task="sentiment",
        prompt="Gostei.",
        completion=f'{{"polarity":"positive","score":{score}}}',
        reference=REFERENCE,
    )
    for score in (5, 4, 1)
]


def sound(rollout: Rollout) -> ScoredRollout:
    return score_rollout(rollout, None)


def harsh(rollout: Rollout) -> ScoredRollout:
    """Pay nothing for stars that are off by more than one."""
    scored = sound(rollout)
    if '"score":1' not in rollout.completion:
        return scored
    return scored.model_copy(update={"components": {**scored.components, "polarity": 0.0}})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    record("sentiment", ROLLOUTS, sound, tmp_path)
    return tmp_path


def test_a_reward_as_recorded_passes(folder: Path) -> None:
    probe = recorded_scores("sentiment", ["p"], sound, folder)
    assert probe is not None
    assert probe.passed
    assert probe.detail == "3 of 3 completions earn what is recorded"


def test_a_component_that_changed_is_named_with_its_line_and_the_remedy(folder: Path) -> None:
    probe = recorded_scores("sentiment", ["p"], harsh, folder)
    assert probe is not None
    assert not probe.passed
    assert "2 of 3" in probe.detail
    assert "3 (polarity 0.25, now 0.0)" in probe.detail
    assert "tucano audit record" in probe.detail


def test_a_reward_alone_that_changed_is_noticed(folder: Path) -> None:
    def dear(rollout: Rollout) -> ScoredRollout:
        return sound(rollout).model_copy(update={"reward": 0.5})

    assert [line for line, _ in changes(read_recorded("sentiment", folder), dear)] == [1, 2, 3]


def test_a_component_that_is_gone_or_no_number_is_a_change(folder: Path) -> None:
    def without(rollout: Rollout) -> ScoredRollout:
        return sound(rollout).model_copy(update={"components": {}})

    def odd(rollout: Rollout) -> ScoredRollout:
        return sound(rollout).model_copy(update={"reward": float("nan")})

    for changed in (without, odd):
        assert len(list(changes(read_recorded("sentiment", folder), changed))) == 3


def test_a_change_on_purpose_passes_once_it_is_recorded_again(folder: Path) -> None:
    record("sentiment", read_recorded("sentiment", folder), harsh, folder)
    probe = recorded_scores("sentiment", ["p"], harsh, folder)
    assert probe is not None
    assert probe.passed
    assert [each.completion for each in read_recorded("sentiment", folder)] == [each.completion for each in ROLLOUTS]


def test_nothing_recorded_and_another_specification_are_no_probe(folder: Path, tmp_path: Path) -> None:
    def older(rollout: Rollout) -> ScoredRollout:
        return score_rollout(rollout, None, "v4.2")

    assert recorded_scores("push", ["p"], sound, tmp_path) is None
    assert recorded_scores("sentiment", ["p"], older, folder) is None


def test_queries_are_compared_on_the_shipped_store_alone() -> None:
    def never(rollout: Rollout) -> ScoredRollout:
        raise AssertionError(rollout)

    assert recorded_scores("sql_qa", ["a prompt of another store"], never) is None


@pytest.mark.slow
def test_the_shipped_record_is_of_every_task_and_of_the_rewards_as_they_are() -> None:
    asked = {each.prompt_id for each in read_recorded("sql_qa")}
    for task in TASK_NAMES:
        probe = recorded_scores(task, asked, reward_of({task}, shipped_files().store, "grounded"))
        assert probe is not None, task
        assert probe.passed, f"{task}: {probe.detail}"
