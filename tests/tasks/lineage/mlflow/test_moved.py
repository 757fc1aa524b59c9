"""A store that was moved or copied works on its own files, and nothing is written or removed anywhere else."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from flows.runtime.session import mlflow_store
from schemas.config.config import StateConfig
from tasks.lineage.mlflow.client import open_client
from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import Registry
from tasks.lineage.mlflow.removal import Removal
from tests.listing import listing
from tests.tasks.lineage.mlflow.records import artifact, write_trace

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mlflow_tables")]

EXPERIMENT = "tucano2-commerce"
MODEL = "loja"
POLICY, EVALUATION = artifact("policy", "3"), artifact("evaluation", "4")


def store(root: Path) -> tuple[str, Path | None]:
    return mlflow_store(StateConfig(root=root))


def recorder(root: Path) -> Recorder:
    return Recorder(*store(root), EXPERIMENT, state=str(root.resolve()))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, mlflow_tables: None) -> Path:
    """A state folder with a registered policy, a trace, a run that was killed, and addresses that are not of it."""
    root = tmp_path_factory.mktemp("made") / "s"
    uri, _ = store(root)
    opened = recorder(root)
    with opened.pipeline("retrain", {}) as parent, opened.stage(parent, "train", {}, {}) as stage:
        stage.log_output(POLICY)
        write_trace(uri, stage.run_id, "Oi!")
        Registry(uri).register(
            stage.run_id,
            MODEL,
            policy=POLICY,
            evaluation=EVALUATION,
            verdict="promote",
            metrics={},
            base_model=None,
            load_in_4bit=False,
        )
    opened._start("killed", {})
    client = open_client(uri)
    client.create_experiment("bucket", artifact_location="gs://bucket/mlflow/artifacts")
    client.create_experiment("theirs", artifact_location="file:///home/ana/mlruns/1")
    return root


def dump(root: Path) -> str:
    """Return the database as SQL, with every text in it."""
    with closing(sqlite3.connect(root / "mlflow" / "mlflow.db")) as database:
        return "\n".join(database.iterdump())


def write_everywhere(root: Path) -> None:
    """Write to a new run, to a model of before, and remove what the policy left."""
    opened = recorder(root)
    with opened.pipeline("again", {}) as parent, opened.stage(parent, "evaluate", {}, {}) as stage:
        stage.log_output(EVALUATION)
    registry = Registry(store(root)[0])
    model = root.parent / "model"
    model.mkdir(exist_ok=True)
    (model / "MLmodel").write_text("weights", encoding="utf-8")
    registry.add_model(MODEL, "1", model)
    assert list((root / "mlflow" / "artifacts" / "models").rglob("MLmodel"))
    assert len(list((root / "mlflow" / "artifacts").rglob("record.json"))) == 3
    removal = Removal(*store(root), EXPERIMENT)
    assert removal.traces(lambda _: True) == 1
    removal.models([POLICY.sha256])
    removal.runs([], [POLICY.sha256], [])
    assert len(list((root / "mlflow" / "artifacts").rglob("record.json"))) == 1


@pytest.mark.parametrize("name", ["s/mlflow/s", "a b%41#'ç"])
def test_a_copy_is_written_and_its_original_is_not(
    made: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before, root = listing(made), tmp_path / name
    shutil.copytree(made, root)
    opened = recorder(root)
    # A run that was killed before the copy is ended.
    opened.end_abandoned()
    statuses = [run.info.status for run in open_client(store(root)[0]).search_runs([opened.experiment_id])]
    assert (statuses.count("KILLED"), statuses.count("RUNNING")) == (1, 0)
    # Traces, which are removed below, have addresses too.
    assert str(made) not in dump(root)
    write_everywhere(root)
    assert listing(made) == before
    assert str(made) not in dump(root)
    said = capsys.readouterr().err
    assert str(made) in said
    assert str(root) in said
    assert said.count("\n") == 1
