"""A store that was moved or copied works on its own files, and nothing is written or removed anywhere else."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import Registry
from tests.listing import listing
from tests.tasks.lineage.mlflow.records import EXPERIMENT, Store, artifact

pytestmark = pytest.mark.integration


def dump(store: Store) -> str:
    """Return the database as SQL, with every text in it."""
    with closing(sqlite3.connect(store.database)) as database:
        return "\n".join(database.iterdump())


@pytest.mark.parametrize("name", ["s/mlflow/s", "a b%41#'ç"])
def test_copy_leaves_its_original(filled: Store, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = listing(filled.root)
    copy = Store(Path(shutil.copytree(filled.root, tmp_path / name)), filled.runs)
    recorder = Recorder(copy.uri, copy.files, EXPERIMENT, state=str(copy.root.resolve()))
    (said,) = capsys.readouterr().err.splitlines()
    assert str(filled.root) in said
    assert str(copy.root) in said
    # A run that was killed before the copy is ended.
    recorder.end_abandoned()
    statuses = [run.info.status for run in copy.client.search_runs([recorder.experiment_id])]
    assert (statuses.count("KILLED"), statuses.count("RUNNING")) == (1, 0)
    # Traces, which are removed below, have addresses too.
    assert str(filled.root) not in dump(copy)
    with recorder.pipeline("again", {}) as parent, recorder.stage(parent, "train", {}, {}) as stage:
        stage.log_output(artifact("policy", "7"))
    model = tmp_path / "model"
    model.mkdir()
    (model / "MLmodel").write_text("weights", encoding="utf-8")
    Registry(copy.uri).add_model("loja", "2", model)
    assert list((copy.files / "models").rglob("MLmodel"))
    assert len(list(copy.files.rglob("record.json"))) == len(list(filled.files.rglob("record.json"))) + 2
    assert copy.remove() == ["loja/1", "outra-loja/1"]
    assert listing(filled.root) == before
    assert str(filled.root) not in dump(copy)
