"""Facts shown of an artifact beside its digest."""

import json
from pathlib import Path

import pytest

from tasks.lineage.graph.descriptions import describe
from tasks.lineage.store.artifacts import ArtifactStore
from tests.tasks.lineage.made import commit


@pytest.mark.parametrize(("of_hub", "shown"), [("c0ffee", "c0ffee"), (None, None)])
def test_a_base_of_a_hub_is_shown_with_its_commit(of_hub: str | None, shown: str | None, tmp_path: Path) -> None:
    """The name alone would not say which weights they were: a branch moves."""
    store = ArtifactStore(tmp_path)
    published = json.dumps({"name": "somebody/some", "revision": "main", "commit": of_hub})
    record = commit(store, "base", {"published.json": published, "warm_start.json": '{"demonstrations": 80}'})
    facts = describe(record, store.path(record.sha256))
    assert facts.get("commit") == shown
    assert facts["demonstrations"] == "80"
