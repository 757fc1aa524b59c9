"""The plan is made before the test split is read, and every look at it is counted."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from schemas.artifact import ArtifactRecord
from schemas.tables.prompts import TEST_FILE
from tasks.evaluate.preregistration import EvaluationPlan, count_looks
from tasks.lineage.store.artifacts import ArtifactStore
from tests.tasks.lineage.made import commit

PLAN = EvaluationPlan(
    margin=0.05,
    resamples=1_000,
    seed=1,
    temperature=0.1,
    samples=1,
    max_tokens=64,
    spec="grounded",
    reward_version="v",
    test_split="",
    base="base",
    challengers={1: "one", 2: "two"},
    champion=None,
)


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path / "artifacts")


def commit_plan(store: ArtifactStore, plan: EvaluationPlan) -> ArtifactRecord:
    return commit(store, "plan", {"plan.json": plan.model_dump(mode="json")})


def answered(store: ArtifactStore, text: str = "the test split") -> tuple[EvaluationPlan, ArtifactRecord]:
    """Give a plan for a test split, and the answers of a challenger to it, which are older than any plan."""
    dataset = commit(store, "dataset", {TEST_FILE: text, "data/train.parquet": "train"})
    answers = commit(store, "answers", {"rollouts.jsonl": text}, {"policy": "one", "dataset": dataset})
    return PLAN.model_copy(update={"test_split": dataset.files[TEST_FILE]}), answers


def evaluate(store: ArtifactStore, plan: EvaluationPlan, text: str = "report") -> ArtifactRecord:
    record = commit_plan(store, plan)
    commit(store, "evaluation", {"report.json": text}, {"plan": record})
    return record


def test_a_plan_with_the_removed_prompt_search_still_counts_as_a_look(store: ArtifactStore) -> None:
    plan, _ = answered(store)
    older = {**plan.model_dump(mode="json"), "rungs": ["base-prompt"], "prompt_search": {"budget": 12}}
    record = commit(store, "plan", {"plan.json": older})
    commit(store, "evaluation", {"report.json": "older"}, {"plan": record})
    assert count_looks(store, commit_plan(store, plan.model_copy(update={"margin": 0.1}))).number == 2


def test_a_second_look_is_counted_where_one_challenger_was_tested_on_the_same_split(store: ArtifactStore) -> None:
    plan, answers = answered(store)
    first = commit_plan(store, plan)
    looks = count_looks(store, first)
    assert (looks.number, looks.margin_before) == (1, None)
    times = [record.created_at.isoformat(timespec="seconds") for record in (first, answers)]
    assert [looks.margin_recorded_at, looks.first_read_at] == times
    other = plan.model_copy(update={"challengers": {1: "one"}, "margin": 0.1})
    commit_plan(store, other)
    assert count_looks(store, first).number == 1, "a plan that was never evaluated is no look"
    evaluate(store, other)
    looks = count_looks(store, first)
    assert (looks.number, looks.margin_before) == (2, 0.1)


def test_the_same_weights_adopted_by_another_name_are_the_same_challenger(store: ArtifactStore) -> None:
    plan, answers = answered(store)
    for look, name in enumerate(("trl@1", "trl@2"), start=1):
        files = {"adapter/adapter_model.safetensors": "weights", "training.json": name}
        policy = commit(store, "policy", files, {"base": "b"})
        commit(store, "answers", {"rollouts.jsonl": name}, {**answers.inputs, "policy": policy})
        evaluated = evaluate(store, plan.model_copy(update={"challengers": {1: policy.sha256}}), name)
        assert count_looks(store, evaluated).number == look


def test_the_same_plan_other_challengers_and_other_test_splits_are_no_further_looks(store: ArtifactStore) -> None:
    plan, _ = answered(store)
    elsewhere, _ = answered(store, "another test split")
    evaluate(store, elsewhere)
    evaluate(store, plan.model_copy(update={"challengers": {1: "three"}}))
    for text in ("once", "and again"):
        record = evaluate(store, plan, text)
    assert count_looks(store, record).number == 1


def test_margin_keeps_its_first_time(store: ArtifactStore, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, _ = answered(store)
    first = commit_plan(store, plan)
    later = commit_plan(store, plan.model_copy(update={"resamples": 2_000}))
    other = commit_plan(store, plan.model_copy(update={"margin": 0.2}))
    times = {first.sha256: 1, later.sha256: 2, other.sha256: 3}
    monkeypatch.setattr(ArtifactStore, "record", lambda self, sha256: _at(real(self, sha256), times.get(sha256)))
    assert count_looks(store, later).margin_recorded_at == "2026-01-01T00:00:00+00:00"
    assert count_looks(store, other).margin_recorded_at == "2026-01-03T00:00:00+00:00"


real = ArtifactStore.record


def _at(record: ArtifactRecord, day: int | None) -> ArtifactRecord:
    """Date a plan, since all of a test's are made within a second."""
    return record if day is None else record.model_copy(update={"created_at": datetime(2026, 1, day, tzinfo=UTC)})
