"""The main job, end to end: killed with SIGKILL in training, resumed, run again, damaged and mended."""

import json
from pathlib import Path

import pytest
from filelock import FileLock

from flows.server import session_server
from flows.session import LOCK_FILE, mlflow_store, prefect_folder
from schemas.profiles import load_config
from schemas.progress import silent
from tasks.lineage.artifacts import ArtifactStore
from tasks.policy.child import run_child
from tasks.train.grpo import ADAPTER_FOLDER, SUMMARY_FILE, GrpoRequest
from tests.small_pipeline import PROFILE, VERDICT_CODES, Pipeline, retrain, skipped

pytestmark = pytest.mark.e2e

STAGES = ["synthesize", "curate", "audit", "base", "train", "evaluate", "promote"]


def test_a_kill_in_training_leaves_no_process_behind(pipeline: Pipeline) -> None:
    assert pipeline.survivors == []


def test_the_resumed_run_skips_what_was_finished_and_goes_on_from_the_checkpoint(pipeline: Pipeline) -> None:
    assert pipeline.resumed.exit_code in VERDICT_CODES, pipeline.resumed.said
    assert skipped(pipeline.resumed.said) == STAGES[:4]
    assert "resumed at step" in pipeline.resumed.said
    assert list(pipeline.resumed.document["stages"]) == STAGES


def test_the_resumed_training_equals_an_uninterrupted_one(pipeline: Pipeline, tmp_path: Path) -> None:
    stages = {name: Path(stage["path"]) for name, stage in pipeline.resumed.document["stages"].items()}
    config = load_config(str(PROFILE))
    request = GrpoRequest(
        config=config.train,
        spec=config.rewards.spec,
        validation_temperature=config.evaluate.temperature,
        validation_batch_size=config.evaluate.batch_size,
        seed=config.seed,
        base=stages["base"],
        dataset=stages["curate"],
        store=stages["synthesize"] / "store",
        audit=stages["audit"],
        mirror=str(tmp_path / "mirror"),
        training="uninterrupted",
        output=tmp_path / "output",
    )
    run_child("tasks.train.grpo", request, tmp_path / "work", interpreter=None, progress=silent)
    made = {file.relative_to(tmp_path / "output"): file for file in (tmp_path / "output").rglob("*") if file.is_file()}
    kept = {file.relative_to(stages["train"]): file for file in stages["train"].rglob("*") if file.is_file()}
    assert made.keys() == kept.keys()
    assert {Path(SUMMARY_FILE), Path(ADAPTER_FOLDER) / "adapter_model.safetensors"} <= made.keys()
    for name, file in made.items():
        assert file.read_bytes() == kept[name].read_bytes(), name


def test_no_test_prompt_is_among_the_training_prompts(pipeline: Pipeline) -> None:
    from schemas.prompts import read_prompts

    dataset = Path(pipeline.resumed.document["stages"]["curate"]["path"]) / "data"
    split = {name: {row.prompt for row in read_prompts(dataset / f"{name}.parquet")} for name in ("train", "test")}
    assert split["train"]
    assert not split["train"] & split["test"]


def test_a_second_run_skips_every_stage_and_says_the_same(pipeline: Pipeline) -> None:
    again = retrain(pipeline.root)
    assert skipped(again.said) == STAGES
    assert again.exit_code == pipeline.resumed.exit_code
    for name in STAGES:
        before, after = (each.document["stages"][name] for each in (pipeline.resumed, again))
        assert after["sha256"] == before["sha256"]
        assert after["reused"]
    assert again.document["decision"] == pipeline.resumed.document["decision"]


def test_a_second_run_at_the_same_time_is_refused(pipeline: Pipeline) -> None:
    with FileLock(pipeline.root / LOCK_FILE):
        refused = retrain(pipeline.root)
    assert refused.exit_code == 2
    assert "tucano: another tucano is at work in the state folder" in refused.said
    assert refused.document is None


def test_mlflow_shows_a_run_a_stage_under_one_parent_with_datasets_in_and_a_model_out(pipeline: Pipeline) -> None:
    from mlflow import MlflowClient

    config = load_config(str(PROFILE), [f"state.root={pipeline.root}"])
    client = MlflowClient(mlflow_store(config.state.root)[0])
    (experiment,) = [each for each in client.search_experiments() if each.name != "Default"]
    runs = client.search_runs([experiment.experiment_id])
    stages = {run.data.tags["stage"]: run for run in runs if run.info.status == "FINISHED" and "stage" in run.data.tags}
    assert set(stages) == set(STAGES)
    killed = [run for run in runs if run.info.status == "KILLED"]
    assert {run.data.tags.get("stage") for run in killed} == {None, "train"}
    assert {each.dataset.name for each in stages["train"].inputs.dataset_inputs} == {
        "prompts",
        "dataset",
        "base",
        "audit",
    }
    assert client.get_metric_history(stages["train"].info.run_id, "reward")
    decision = pipeline.resumed.document["decision"]
    (version,) = client.search_model_versions(f"name='{decision['model']}'")
    assert str(version.version) == decision["version"]
    assert ("champion" in version.aliases) == (decision["verdict"] == "promote")


def test_prefect_shows_a_flow_a_stage_and_the_killed_runs_as_crashed(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prefect.client.orchestration import SyncPrefectClient

    monkeypatch.setenv("PREFECT_HOME", str(prefect_folder(pipeline.root).resolve()))
    with session_server(pipeline.root / "prefect.log") as address, SyncPrefectClient(address) as client:
        flows = {flow.id: flow.name for flow in client.read_flows()}
        runs = [(flows[run.flow_id], run.state.name) for run in client.read_flow_runs() if run.state]
    assert {name for name, _ in runs} == {"retrain", *STAGES}
    assert {name for name, state in runs if state == "Crashed"} == {"retrain", "train"}
    assert not [name for name, state in runs if state == "Running"]


def test_every_artifact_names_inputs_that_are_there(pipeline: Pipeline) -> None:
    store = ArtifactStore(pipeline.root / "artifacts")
    for stage in pipeline.resumed.document["stages"].values():
        record = store.record(stage["sha256"])
        store.verify(record.sha256)
        for digest in record.inputs.values():
            store.verify(digest)


def test_the_report_is_one_file_that_needs_no_network(pipeline: Pipeline) -> None:
    folder = Path(pipeline.resumed.document["stages"]["evaluate"]["path"])
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert 'src="http' not in page
    assert "<link" not in page
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert report["overall"]["n_prompts"] == 24
