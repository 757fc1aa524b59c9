"""One filled store for the tests of a module, of which each takes a copy."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import InputError
from tasks.lineage.mlflow.client import open_client
from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import Registry
from tests.tasks.lineage.made import register_policy
from tests.tasks.lineage.mlflow.records import EVALUATION, EXPERIMENT, OTHER, POLICY, SAID, SETTING, Store, write_trace


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, mlflow_tables: None) -> Store:
    """A policy, its evaluation with an answer's text and a judge's, another policy, and a run that was killed."""
    root = tmp_path_factory.mktemp("state") / "s"
    uri, files = f"sqlite:///{root / 'mlflow' / 'mlflow.db'}", root / "mlflow" / "artifacts"
    recorder, registry = Recorder(uri, files, EXPERIMENT, state=str(root.resolve())), Registry(uri)
    with recorder.pipeline("p", {}) as pipeline:
        with recorder.stage(pipeline, "train", {}, {}) as first:
            first.log_output(POLICY)
        with recorder.stage(pipeline, "train", {}, {}) as other:
            other.log_output(OTHER)
        for policy, run, name in ((POLICY, first, "loja"), (OTHER, other, "loja"), (POLICY, first, "outra-loja")):
            register_policy(registry, run.run_id, name, policy, EVALUATION)
        with recorder.stage(pipeline, "evaluate", {"policy": POLICY}, {}) as evaluate:
            evaluate.log_output(EVALUATION)
            write_trace(uri, evaluate.run_id, SAID)
        with recorder.stage(evaluate.run_id, "judge", {}, {}) as judge:
            write_trace(uri, judge.run_id, SAID)
        with pytest.raises(InputError), recorder.stage(pipeline, "evaluate", {"policy": POLICY}, {}) as failed:
            write_trace(uri, failed.run_id, SAID)
            raise InputError("the disk is full")
        with recorder.stage(pipeline, "train", {}, {}) as again:
            again.log_output(POLICY)
    recorder._start("killed", {})
    client = open_client(uri)
    client.log_param(first.run_id, "setting", SETTING)
    client.create_experiment("bucket", artifact_location="gs://bucket/mlflow/artifacts")
    client.create_experiment("theirs", artifact_location="file:///home/ana/mlruns/1")
    registry.promote("loja", "champion", "previous", "1", promotion="9" * 64)
    trace = client.search_traces(locations=[recorder.experiment_id])[0].info.trace_id
    (files / "traces" / trace).mkdir(parents=True, exist_ok=True)  # MLflow's may be there.
    (files / "traces" / trace / "spans.json").write_text(SAID, encoding="utf-8")
    return Store(root, [run.run_id for run in (first, other, evaluate, judge, failed, again)])


@pytest.fixture
def store(filled: Store, tmp_path: Path) -> Store:
    """A copy of the store."""
    return Store(Path(shutil.copytree(filled.root, tmp_path / "copy")), filled.runs)


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    folder = tmp_path_factory.mktemp("mlflow")
    return Recorder(f"sqlite:///{folder / 'mlflow.db'}", folder / "artifacts", EXPERIMENT)


@pytest.fixture(scope="module")
def client(recorder: Recorder) -> Any:
    """MLflow's own view of what the recorder wrote."""
    from mlflow import MlflowClient

    return MlflowClient(recorder._uri, registry_uri=recorder._uri)
