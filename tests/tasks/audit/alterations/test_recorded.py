"""Recorded scores notice a change that no bound forbids, name it, and are quiet after it was recorded."""

from pathlib import Path

from schemas.documents import Rollout, ScoredRollout
from tasks.audit.alterations.recorded import FOLDER, read_recorded, recorded_changes
from tasks.audit.alterations.recording import record
from tests.tasks.audit.alterations.prompts import score


def changed(rollout: Rollout) -> ScoredRollout:
    scored = score("sentiment")(rollout)
    if '"score":4' not in rollout.completion:
        return scored
    return scored.model_copy(update={"components": {**scored.components, "score": 0.993 * scored.components["score"]}})


def test_a_change_is_named_until_it_is_recorded(tmp_path: Path) -> None:
    assert recorded_changes("sentiment", score("sentiment"), tmp_path) is None
    record("sentiment", score("sentiment"), tmp_path)
    same = recorded_changes("sentiment", score("sentiment"), tmp_path)
    assert same is not None
    assert same.passed
    found = recorded_changes("sentiment", changed, tmp_path)
    assert found is not None
    assert not found.passed
    assert "a star less: score 0.5, now 0.496" in found.detail
    before = [(each.prompt, each.reference) for each in read_recorded("sentiment", tmp_path)]
    record("sentiment", changed, tmp_path)
    again = recorded_changes("sentiment", changed, tmp_path)
    assert again is not None
    assert again.passed
    assert [(each.prompt, each.reference) for each in read_recorded("sentiment", tmp_path)] == before


def test_queries_on_another_store_are_not_compared(tmp_path: Path) -> None:
    record("sql_qa", score("sql_qa"), tmp_path)

    def elsewhere(rollout: Rollout) -> ScoredRollout:
        scored = score("sql_qa")(rollout)
        return scored.model_copy(update={"components": dict.fromkeys(scored.components, 0.0), "reward": 0.0})

    assert recorded_changes("sql_qa", elsewhere, tmp_path) is None


def test_the_shipped_records_are_of_the_rewards_as_they_are() -> None:
    for path in FOLDER.glob("*.jsonl"):
        found = recorded_changes(path.stem, score(path.stem))  # type: ignore[arg-type]
        assert found is not None
        assert found.passed, found.detail
