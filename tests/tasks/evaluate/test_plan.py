"""The plan is made before the test split is read, and every look at it is counted."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from schemas.artifact import ArtifactKind, ArtifactRecord
from tasks.evaluate.plan import TEST_SPLIT, EvaluationPlan, count_looks, read_plan, write_plan
from tasks.lineage.artifacts import ArtifactStore

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


def commit(
    store: ArtifactStore, kind: ArtifactKind, files: Mapping[str, str], inputs: Mapping[str, str] | None = None
) -> ArtifactRecord:
    with store.draft() as draft:
        for name, text in files.items():
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            (draft / name).write_text(text, encoding="utf-8")
        return store.commit(draft, kind=kind, stage=kind, code_version="c", config_digest="d", inputs=inputs or {})


def commit_plan(store: ArtifactStore, plan: EvaluationPlan) -> ArtifactRecord:
    with store.draft() as draft:
        write_plan(plan, draft)
        return store.commit(draft, kind="plan", stage="plan", code_version="c", config_digest="d", inputs={})


def split(store: ArtifactStore, text: str = "the test split") -> tuple[ArtifactRecord, EvaluationPlan]:
    """Give a dataset, and a plan for its test split."""
    dataset = commit(store, "dataset", {TEST_SPLIT: text, "data/train.parquet": "train"})
    return dataset, PLAN.model_copy(update={"test_split": dataset.files[TEST_SPLIT]})


def test_a_plan_comes_back_as_it_was_written(tmp_path: Path) -> None:
    write_plan(PLAN, tmp_path)
    assert read_plan(tmp_path) == PLAN


def test_the_same_plan_keeps_the_time_at_which_it_was_first_made(store: ArtifactStore) -> None:
    assert commit_plan(store, PLAN).created_at == commit_plan(store, PLAN).created_at


def test_a_first_look_is_the_first(store: ArtifactStore) -> None:
    _, plan = split(store)
    looks = count_looks(store, commit_plan(store, plan))
    assert (looks.number, looks.first_read_at, looks.margin_before) == (1, None, None)


def test_a_second_look_is_counted_where_one_challenger_was_tested_on_the_same_split(store: ArtifactStore) -> None:
    _, plan = split(store)
    first = commit_plan(store, plan.model_copy(update={"challengers": {2: "two"}, "margin": 0.1}))
    commit(store, "evaluation", {"report.json": "1"}, {"plan": first.sha256})
    looks = count_looks(store, commit_plan(store, plan))
    assert (looks.number, looks.margin_before) == (2, 0.1)


def test_other_challengers_and_other_test_splits_are_no_looks(store: ArtifactStore) -> None:
    _, plan = split(store)
    _, elsewhere = split(store, "another test split")
    for number, other in enumerate((elsewhere, plan.model_copy(update={"challengers": {1: "three"}}))):
        commit(store, "evaluation", {"report.json": str(number)}, {"plan": commit_plan(store, other).sha256})
    assert count_looks(store, commit_plan(store, plan)).number == 1


def test_it_says_when_the_challenger_first_read_the_test_split(store: ArtifactStore) -> None:
    dataset, plan = split(store)
    made = [
        commit(store, "answers", {"rollouts.jsonl": text}, {"policy": policy, "dataset": dataset.sha256})
        for text, policy in (("of another", "three"), ("earlier", "one"), ("later", "two"))
    ]
    looks = count_looks(store, commit_plan(store, plan))
    assert looks.first_read_at == made[1].created_at.isoformat(timespec="seconds")
    assert looks.first_read_at <= looks.margin_recorded_at
