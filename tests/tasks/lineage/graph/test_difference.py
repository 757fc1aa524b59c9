"""Why two policies differ: all that does is reported, once, and nothing that does not."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.artifact import ArtifactRecord
from schemas.errors import InputError
from tasks.lineage.graph.difference import ChangedValue, CodeChange, RowCounts, differences
from tasks.lineage.store.artifacts import ArtifactDamaged, ArtifactStore
from tests.tasks.lineage.made import commit

CODE = {"tasks/train/children/grpo.py": "1", "schemas/config/config.py": "2"}
CONFIG: dict[str, Any] = {"seed": 1, "train": {"steps": 8, "seeds": [1]}, "promote": {"alias": "champion"}}
AUDIT = {"spec": "grounded", "reward_version": "v", "raters": {"person-1": "human"}, "sheet_sha256": "s"}
ROWS = {"train": {"extraction": ["a", "b"], "churn": ["c"]}, "validation": {"extraction": ["d"]}, "test": {}}


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path)


def split(tasks: dict[str, list[str]]) -> pl.DataFrame:
    rows = [(task, prompt_id) for task, prompts in tasks.items() for prompt_id in prompts]
    return pl.DataFrame(rows, schema={"task": pl.String, "prompt_id": pl.String}, orient="row")


def train(
    store: ArtifactStore,
    *,
    rows: dict[str, dict[str, list[str]]] | None = None,
    code: dict[str, str] | None = None,
    config: dict[str, Any] | None = None,
    audit: dict[str, Any] | None = None,
    seed: int = 1,
    weights: str = "",
    sheet: ArtifactRecord | None = None,
) -> str:
    """Make a policy and what it was made of; what is the same content is the same artifact, with its first record."""
    tables = {f"data/{name}.parquet": split(tasks) for name, tasks in (rows or ROWS).items()}
    record = {"sources": CODE if code is None else code, "config": CONFIG if config is None else config}
    dataset = commit(store, "dataset", tables, **record)
    summary = json.dumps({"seed": seed, "audit": audit or AUDIT})
    drawn = {} if sheet is None else {"sheet": sheet}
    audited = commit(store, "audit", {"audit.json": json.dumps(audit or AUDIT)}, drawn, **record)
    inputs = {"dataset": dataset, "audit": audited}
    learned = f"{weights} {dataset.sha256} {record}"
    return commit(store, "policy", {"training.json": summary, "weights": learned}, inputs, **record).sha256


def test_a_policy_differs_in_nothing_from_one_made_alike(store: ArtifactStore) -> None:
    one, other = train(store), train(store, weights="other")
    found = differences(store, one, other)
    assert (found.one, found.other) == (one, other)
    assert (found.rewards, found.code, found.configuration, found.seeds, found.notes) == ((), (), (), (), ())
    assert found.data == (
        RowCounts("train", "extraction", 0, 0, 2),
        RowCounts("train", "churn", 0, 0, 1),
        RowCounts("validation", "extraction", 0, 0, 1),
    )


def test_rows_are_counted_by_split_and_task(store: ArtifactStore) -> None:
    moved = {"train": {"extraction": ["b", "e", "f"]}, "validation": {}, "test": {"churn": ["c"]}}
    assert differences(store, train(store), train(store, rows=moved)).data == (
        RowCounts("train", "extraction", 1, 2, 1),
        RowCounts("train", "churn", 1, 0, 0),
        RowCounts("validation", "extraction", 1, 0, 0),
        RowCounts("test", "churn", 0, 1, 0),
    )


@pytest.fixture
def scored(store: ArtifactStore) -> ArtifactRecord:
    """A sheet of an earlier retraining, that people scored once for all that follow."""
    dataset = commit(store, "dataset", {"data/train.parquet": split({"churn": ["old"]})}, sources=CODE, config=CONFIG)
    return commit(store, "sheet", {"sheet.csv": "s"}, {"dataset": dataset}, sources=CODE, config=CONFIG)


def test_policies_are_compared_by_their_own_data_and_not_by_that_of_their_audits_sheet(
    store: ArtifactStore, scored: ArtifactRecord
) -> None:
    one = train(store, rows={"train": {"churn": ["a", "b"]}}, sheet=scored)
    other = train(store, rows={"train": {"churn": ["c"]}}, sheet=scored)
    assert differences(store, one, other).data == (RowCounts("train", "churn", 2, 1, 0),)


def test_no_other_data_stands_for_that_which_is_gone(store: ArtifactStore, scored: ArtifactRecord) -> None:
    one = train(store, rows={"train": {"churn": ["a"]}}, sheet=scored)
    other = train(store, rows={"train": {"churn": ["c"]}}, sheet=scored)
    gone = store.path(store.record(other).inputs["dataset"]).parent
    gone.rename(gone.with_name("0" * 64))
    found = differences(store, one, other)
    assert found.data == (RowCounts("train", "churn", 1, 0, 0),)
    assert any("has no artifact" in note for note in found.notes)


def test_a_file_that_several_artifacts_were_made_by_is_reported_once(store: ArtifactStore) -> None:
    other = train(store, code={"schemas/config/config.py": "changed", "tasks/train/children/dpo.py": "new"})
    found = differences(store, train(store, rows=ROWS | {"test": {"churn": ["x"]}}), other)
    assert {(change.file, change.one, change.other) for change in found.code} == {
        ("schemas/config/config.py", "2", "changed"),
        ("tasks/train/children/dpo.py", None, "new"),
        ("tasks/train/children/grpo.py", "1", None),
    }
    # The audit is one artifact of both.
    assert {change.made for change in found.code} == {("dataset", "policy")}
    assert [change.file for change in found.code] == sorted(change.file for change in found.code)


def test_configuration_and_seeds_are_reported_by_dotted_keys(store: ArtifactStore) -> None:
    config = {"seed": 2, "train": {"steps": 9, "seeds": [1, 2], "new": None}, "promote": {"alias": "other"}}
    found = differences(store, train(store), train(store, config=config, seed=2))
    assert found.configuration == (ChangedValue("train.steps", 8, 9),)
    assert found.seeds == (
        ChangedValue("training", 1, 2),
        ChangedValue("seed", 1, 2),
        ChangedValue("train.seeds", [1], [1, 2]),
    )


def test_other_rewards_are_reported_with_their_audit(store: ArtifactStore) -> None:
    found = differences(store, train(store), train(store, audit=AUDIT | {"spec": "v4.2", "reward_version": "w"}))
    changed = {change.name: (change.one, change.other) for change in found.rewards}
    assert (changed["spec"], changed["reward_version"]) == (("grounded", "v4.2"), ("v", "w"))
    assert changed.keys() == {"spec", "reward_version", "audit"}


def test_lost_artifacts_are_noted_and_the_rest_compared(store: ArtifactStore) -> None:
    one, other = train(store), train(store, rows=ROWS | {"test": {"churn": ["x"]}}, seed=3)
    gone = store.path(store.record(other).inputs["dataset"]).parent
    gone.rename(gone.with_name("0" * 64))
    (store.path(one) / "training.json").unlink()
    found = differences(store, one, other)
    assert [note.split(", ")[0] for note in found.notes] == [f"of policy {one[:12]}", f"of policy {other[:12]}"]
    assert "training.json cannot be read" in found.notes[0]
    assert "has no artifact" in found.notes[1]
    assert {(counts.only_other, counts.same) for counts in found.data} == {(0, 0)}


def test_records_that_are_too_old_to_tell_are_noted(store: ArtifactStore) -> None:
    old = train(store, code={}, config={}, rows=ROWS | {"test": {"churn": ["x"]}})
    found = differences(store, old, train(store))
    assert found.code == ()
    assert any("too old to name its sources and configuration" in note for note in found.notes)


def test_only_policies_are_compared(store: ArtifactStore) -> None:
    dataset: ArtifactRecord = commit(store, "dataset", {"a": b"b"})
    with pytest.raises(InputError, match="is an artifact of kind dataset, and only policies can be compared"):
        differences(store, dataset.sha256, train(store))
    with pytest.raises(ArtifactDamaged, match="has no artifact"):
        differences(store, train(store), "0" * 64)


def test_the_document_is_plain_json(store: ArtifactStore) -> None:
    found = differences(store, train(store), train(store, code={"schemas/config/config.py": "new"}))
    document = json.loads(json.dumps(found.document()))
    assert document["code"][0].keys() == set(CodeChange.__dataclass_fields__)
    assert document["data"][0]["same"] == 2
