import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import InputError, Interrupted
from tasks.lineage.mlflow.recorder import Recorder
from tests.tasks.lineage.mlflow.records import EXPERIMENT, artifact

pytestmark = pytest.mark.integration

DATASET, BASE = artifact("dataset", "1"), artifact("base", "2")


def test_a_stage_is_a_run_below_the_pipelines(recorder: Recorder, client: Any) -> None:
    with (
        recorder.pipeline("retrain-1", {"seed": "1"}) as pipeline,
        recorder.stage(pipeline, "train", {"dataset": DATASET, "base": BASE}, {"code_version": "abc"}) as stage,
    ):
        assert client.get_run(stage.run_id).info.status == "RUNNING"
    parent, run = client.get_run(pipeline), client.get_run(stage.run_id)
    assert (parent.info.status, parent.info.run_name, parent.data.tags["seed"]) == ("FINISHED", "retrain-1", "1")
    assert (run.info.status, run.info.run_name) == ("FINISHED", "train")
    assert run.data.tags["mlflow.parentRunId"] == pipeline
    assert (run.data.tags["stage"], run.data.tags["code_version"]) == ("train", "abc")
    inputs = {tag.value: item for item in run.inputs.dataset_inputs for tag in item.tags if "context" in tag.key}
    assert {role: item.dataset.name for role, item in inputs.items()} == {"dataset": "dataset", "base": "base"}
    assert inputs["base"].dataset.digest == "2" * 36
    assert json.loads(inputs["base"].dataset.source) == {"uri": f"artifact://base/{'2' * 64}"}
    assert "2" * 64 in [tag.value for tag in inputs["base"].tags]


def suspension() -> BaseException:
    """Prefect's signal of a suspended run, as the human gate raises it."""
    signal = KeyboardInterrupt()
    signal.__cause__ = Interrupted("suspended: 3 completions wait")
    return signal


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (InputError("store x has no orders; add them"), "FAILED", "store x has no orders; add them"),
        (ValueError("row 7: maria@example.com"), "FAILED", "ValueError"),
        (Interrupted("killed; run again"), "KILLED", "killed; run again"),
        (suspension(), "KILLED", "suspended: 3 completions wait"),
    ],
)
def test_end_of_a_run_is_told(recorder: Recorder, client: Any, error: BaseException, status: str, reason: str) -> None:
    with (
        pytest.raises(type(error)),
        recorder.pipeline("p", {}) as pipeline,
        recorder.stage(pipeline, "train", {}, {}) as stage,
    ):
        raise error
    for run_id in (pipeline, stage.run_id):
        run = client.get_run(run_id)
        assert (run.info.status, run.data.tags["ended_by"]) == (status, reason)


def test_runs_of_a_killed_process_are_ended_and_no_others(recorder: Recorder, client: Any) -> None:
    there = Recorder(recorder._uri, None, EXPERIMENT, state="another machine:/srv/state")
    # Kept, since a run ends with its block.
    blocks = recorder.pipeline("killed", {}), there.pipeline("under way", {})
    killed, elsewhere = (block.__enter__() for block in blocks)
    with recorder.pipeline("finished", {}) as finished:
        pass
    # A monitoring may be under way while a retraining begins.
    with recorder.pipeline("monitor", {}, alone=False) as beside, recorder.stage(beside, "monitor", {}, {}) as stage:
        recorder.end_abandoned()
        status = {run: client.get_run(run).info.status for run in (killed, elsewhere, finished, beside, stage.run_id)}
    assert list(status.values()) == ["KILLED", "RUNNING", "FINISHED", "RUNNING", "RUNNING"]
    there.end_abandoned()
    assert client.get_run(elsewhere).info.status == "KILLED"


def models_of(client: Any, run_id: str) -> tuple[set[str], set[str]]:
    """Return the logged models that a run read, and those that it made."""
    run = client.get_run(run_id)
    return {each.model_id for each in run.inputs.model_inputs}, {each.model_id for each in run.outputs.model_outputs}


def test_a_model_is_what_one_stage_makes_and_another_reads(recorder: Recorder, client: Any) -> None:
    base, policy, unknown = artifact("base", "7"), artifact("policy", "8"), artifact("policy", "e")
    made: list[str] = []
    with recorder.pipeline("p", {}) as pipeline:
        for inputs, output in (
            ({"dataset": DATASET}, base),
            ({"dataset": DATASET, "base": base}, policy),
            ({"base": base}, policy),
            ({"base": base, "policy": policy, "unknown": unknown}, artifact("answers", "6")),
        ):
            with recorder.stage(pipeline, "stage", inputs, {}) as stage:
                stage.log_output(output)
                made.append(stage.run_id)
    (base_model,), (policy_model,) = (models_of(client, run)[1] for run in made[:2])
    assert [models_of(client, run) for run in made] == [
        (set(), {base_model}),
        ({base_model}, {policy_model}),
        ({base_model}, {policy_model}),
        ({base_model, policy_model}, set()),
    ]
    model = client.get_logged_model(policy_model)
    assert (model.name, model.model_type, model.tags["artifact_sha256"]) == ("policy", "policy", policy.sha256)
    assert (model.status, model.source_run_id) == ("READY", made[1])


def test_a_store_whose_making_was_killed_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"

    def killed(*arguments: object, **named: object) -> None:
        with sqlite3.connect(tmp_path / "mlflow.db") as database:
            database.execute("CREATE TABLE experiments (half_made TEXT)")
        raise KeyboardInterrupt

    with monkeypatch.context() as half_way, pytest.raises(KeyboardInterrupt):
        half_way.setattr("mlflow.MlflowClient", killed)
        Recorder(uri, tmp_path / "artifacts", EXPERIMENT)
    with Recorder(uri, tmp_path / "artifacts", EXPERIMENT).pipeline("p", {}) as run_id:
        pass
    again = Recorder(uri, tmp_path / "artifacts", EXPERIMENT)
    assert again._client.get_run(run_id).info.status == "FINISHED"
