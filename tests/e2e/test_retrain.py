"""The main job, end to end: killed in its training, resumed, run again, and held for people.

All tests of the one pipeline are in this file, since a file's tests stay in one process, which runs it once.
"""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import httpx
import polars as pl
import psutil
import pytest

from benchmarks.checkpoints.trainings import request_again
from flows.runtime.prefect_server import session_server
from flows.runtime.session import EXPERIMENT, mlflow_store, prefect_folder
from schemas.config.profiles import load_config
from schemas.errors import InputError
from schemas.progress import silent
from schemas.source import PACKAGES, REPOSITORY
from schemas.tables.prompts import TEST_FILE, TRAIN_FILE, read_prompts
from tasks.audit.sheet import Row, is_scored, read_rows, write_rows
from tasks.lineage.erase.find import reached
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.lineage.store.inventory import read_inventory
from tasks.policy.child import run_child
from tasks.policy.load import ADAPTER_FOLDER
from tasks.train.summaries import SUMMARY_FILE
from tests.flows.command import Ended, in_this_process
from tests.house import free_port
from tests.listing import listing
from tests.serving import SECONDS, serving
from tests.small_pipeline import PROFILE, Pipeline, retrain, retrain_here, skipped
from tests.source_records import outside_key, used_by_children

pytestmark = pytest.mark.e2e

FLOWS = ["synthesize", "curate", "audit", "base", "train", "evaluate", "promote"]
CHEAP = ["published", "cheap-base", "cheap-sft", "cheap-baselines"]
"""Stages of the flow of the training's plan."""
ANSWERING = ["plan", "merge-tuned", "answer-base", "answer-tuned"]
"""Stages of the evaluate flow, before the stage of its name."""
STAGES = [*FLOWS[:4], *CHEAP, "train", *ANSWERING, *FLOWS[5:]]
CHILDREN = (
    "tasks.train.sft.warm_start", "tasks.plan.draws", "tasks.train.children.grpo", "tasks.evaluate.answers.answer",
    "tasks.policy.merge",
)  # fmt: skip
# Nothing of findings and reasons that are cut off after 24 tokens can be shown: of each prompt one row says so.
PEOPLE = [
    part
    for override in ("require_human=true", "scores_per_task=16", "completions_per_prompt=4", "min_scores_per_task=8")
    for part in ("--set", f"audit.{override}")
]


def test_a_kill_leaves_no_process_and_the_next_run_resumes_at_the_checkpoint(pipeline: Pipeline) -> None:
    assert pipeline.survivors == []
    assert skipped(pipeline.said) == []
    assert list(pipeline.document["stages"]) == STAGES
    again = skipped(pipeline.resumed.stderr)
    assert again[:8] == STAGES[:8]
    assert set(again[8:]) <= {*_merges_taken_again(pipeline)}
    assert "resumed at step" in pipeline.resumed.stderr


def test_the_resumed_training_equals_an_uninterrupted_one(pipeline: Pipeline, tmp_path: Path) -> None:
    trained, mirror = pipeline.document["stages"]["train"], str(tmp_path / "mirror")
    again = request_again(load_config(str(PROFILE)), trained["sha256"], pipeline.root, mirror, "uninterrupted")
    request = again.model_copy(update={"output": tmp_path / "output"})
    run_child("tasks.train.children.grpo", request, tmp_path / "work", interpreter=None, progress=silent)
    made, kept = (
        {file.relative_to(folder): file for file in folder.rglob("*") if file.is_file()}
        for folder in (request.output, Path(trained["path"]))
    )
    assert made.keys() == kept.keys()
    assert {Path(SUMMARY_FILE), Path(ADAPTER_FOLDER) / "adapter_model.safetensors"} <= made.keys()
    for name, file in made.items():
        assert file.read_bytes() == kept[name].read_bytes(), name


def test_a_forgotten_person_is_in_nothing_afterwards(pipeline: Pipeline, tmp_path: Path, prefect_server: str) -> None:
    """It is done in a copy, and nothing of the original is written or removed."""
    original = listing(pipeline.root)
    root = Path(shutil.copytree(pipeline.root, tmp_path / "state"))
    store = ArtifactStore(root / "artifacts")
    before = store.records("policy")[0]
    trained_on = pl.read_parquet(store.path(before.inputs["dataset"]) / TRAIN_FILE)
    person = trained_on["customer_id"].drop_nulls().sort()[0]
    forgotten = retrain_here(root, person, "--apply", stage="forget", server=prefect_server)
    assert before.sha256 in {removed["sha256"] for removed in forgotten.document()["removed"]}
    assert [file for file in root.rglob("*") if file.is_file() and person.encode() in file.read_bytes()] == []
    with pytest.raises(InputError, match="no table of the"):
        reached(read_inventory(root / "artifacts"), person)
    after = store.records("policy")[0]
    assert person not in pl.read_parquet(store.path(after.inputs["dataset"]) / TRAIN_FILE)["customer_id"]
    assert after.inputs["base"] != before.inputs["base"]
    (training,) = after.stretches.values()
    assert [(segment.from_step, segment.ended) for segment in training] == [(0, "finished")]
    assert listing(pipeline.root) == original


def test_a_second_run_by_reworded_code_skips_every_stage(pipeline: Pipeline, tmp_path: Path) -> None:
    for name in (*PACKAGES, "data", "constraints", "infra"):
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    for file in (tmp_path / "tasks").rglob("*.py"):
        said = file.read_text(encoding="utf-8").replace('"""', '"""Once more: ', 1)
        file.write_text(f"# A comment.\n\n{said}", encoding="utf-8")
    (tmp_path / "tasks" / "commerce" / "unrelated.py").write_text("WEIGHTS = {}\n", encoding="utf-8")
    recorded = _prefect_runs(pipeline)
    again = retrain(pipeline.root, repository=tmp_path)
    assert _prefect_runs(pipeline) == recorded, "a run without work started a server"
    assert skipped(again.stderr) == [*STAGES[:-1], *_merges_taken_again(pipeline), STAGES[-1]], again.stderr
    assert "so nothing was made again" in again.stderr
    found = again.document(pipeline.resumed.returncode)
    for name in STAGES:
        before, after = (each["stages"][name] for each in (pipeline.document, found))
        assert after["sha256"] == before["sha256"]
        assert after["reused"]
    assert found["decision"] == pipeline.document["decision"]


def test_a_child_process_runs_nothing_that_is_not_in_its_key(pipeline: Pipeline) -> None:
    for module in CHILDREN:
        found = used_by_children(pipeline.records, module)
        assert found, module
        for modules, files in found:
            assert len(modules) > 10
            # The stand-in's digests are in the key themselves.
            used = [*modules, *(file for file in files if not file.startswith("data/stand_in/"))]
            assert outside_key(used, module) == []


def _prefect_runs(pipeline: Pipeline) -> int:
    with closing(sqlite3.connect(prefect_folder(pipeline.root) / "prefect.db")) as database:
        return int(database.execute("SELECT count(*) FROM flow_run").fetchone()[0])


def _merges_taken_again(pipeline: Pipeline) -> list[str]:
    """Return the stage by which a promotion takes the model that answered the test; a held version takes none."""
    return ["merge"] if pipeline.document["decision"]["verdict"] == "promote" else []


def test_a_champion_is_served_with_its_own_answers_and_monitored_by_its_log(pipeline: Pipeline, tmp_path: Path) -> None:
    root, original = tmp_path / "state", listing(pipeline.root)
    shutil.copytree(pipeline.root, root)
    state = ("--profile", PROFILE, "--set", f"state.root={root}")
    decision = pipeline.document["decision"]
    if decision["verdict"] != "promote":
        # As chance would have it.
        promoted = in_this_process("promote", decision["version"], "--force", "to be served", *state)
        assert promoted.returncode == 0, promoted.stderr
    dataset = pipeline.document["stages"]["curate"]["sha256"]
    split = read_prompts(root / "artifacts" / "dataset" / dataset / "content" / TEST_FILE)
    rows = {row.task: row for row in split}.values()
    port = free_port()
    settings = ("--set", f"serve.port={port}", "--set", "serve.answer_all=true")
    with serving(root, port, ["serve", *map(str, state), *settings]) as served:
        assert any("20 prompts of its evaluation asked again" in line for line in served.said)
        for row in rows:
            messages = [{"role": "system", "content": row.system}, {"role": "user", "content": row.prompt}]
            sent = {"model": f"champion/{row.task}", "messages": messages, "response_format": {"type": "text"}}
            answer = httpx.post(f"{served.url}/v1/chat/completions", json=sent, timeout=SECONDS)
            assert answer.is_success, answer.text
            known = {"request_id": answer.json()["id"], "reference": dict(row.reference)}
            assert httpx.post(f"{served.url}/v1/feedback", json=known, timeout=SECONDS).is_success
    found = in_this_process("monitor", *state, "--json").document(0, 3)
    assert found["logs"]["answers"] == len(rows)
    assert found["logs"]["feedback"]["references"] == len(rows)
    assert listing(pipeline.root) == original


def test_mlflow_shows_a_run_a_stage_under_one_parent_with_datasets_in_and_a_model_out(pipeline: Pipeline) -> None:
    from mlflow import MlflowClient

    config = load_config(str(PROFILE), [f"state.root={pipeline.root}"])
    client = MlflowClient(mlflow_store(config.state)[0])
    experiment = client.get_experiment_by_name(EXPERIMENT)
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    stages = {run.data.tags["stage"]: run for run in runs if run.info.status == "FINISHED" and "stage" in run.data.tags}
    assert set(stages) == set(STAGES)
    killed = [run for run in runs if run.info.status == "KILLED"]
    assert {run.data.tags.get("stage") for run in killed} >= {None, "train"}
    inputs = {each.dataset.name for each in stages["train"].inputs.dataset_inputs}
    assert inputs == {"prompts", "dataset", "base", "audit"}
    assert client.get_metric_history(stages["train"].info.run_id, "reward")
    shown = {file.path for file in client.list_artifacts(stages["evaluate"].info.run_id)}
    assert shown >= {"report.html", "report.json", "report.md", "forest.svg"}
    assert "overall.mean_difference" in stages["evaluate"].data.metrics
    decision = pipeline.document["decision"]
    (version,) = client.search_model_versions(f"name='{decision['model']}'")
    assert str(version.version) == decision["version"]
    assert ("champion" in version.aliases) == (decision["verdict"] == "promote")


def test_prefect_shows_each_flow_and_the_killed_run(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    from prefect.client.orchestration import SyncPrefectClient

    monkeypatch.setenv("PREFECT_HOME", str(prefect_folder(pipeline.root).resolve()))
    with session_server(pipeline.root / "prefect.log") as address, SyncPrefectClient(address) as client:
        flows = {flow.id: flow.name for flow in client.read_flows()}
        runs = [(flows[run.flow_id], run.state.name) for run in client.read_flow_runs() if run.state]
        finished = [run for run in client.read_flow_runs() if flows[run.flow_id] == "retrain" and len(run.tags) == 3]
        artifacts = client.read_artifacts()
    (resumed,) = finished
    verdict = pipeline.document["decision"]["verdict"]
    assert set(resumed.tags) == {"profile:small", "seed:7", f"verdict:{verdict}"}
    # The page of the run shows its results.
    assert resumed.start_time is not None
    shown = {each.key for each in artifacts if each.created is not None and each.created >= resumed.start_time}
    assert shown == {"audit-gate", "training-plan", "evaluation", "promotion", "retraining"}
    assert {name for name, _ in runs} == {"retrain", "training-plan", *FLOWS}
    assert {name for name, state in runs if state == "Crashed"} >= {"retrain", "train"}
    assert not [name for name, state in runs if state == "Running"]


def test_the_pages_call_the_port_that_they_are_on_and_a_kill_leaves_no_process(copied: Path) -> None:
    command = [sys.executable, "-m", "flows", "ui", "--root", str(copied)]
    ports = {"prefect": free_port(), "mlflow": free_port()}
    chosen = [part for name, port in ports.items() for part in (f"--{name}-port", str(port))]
    pages = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
    with subprocess.Popen([*command, *chosen], stderr=subprocess.PIPE, text=True, env=_at_home()) as ui:
        assert ui.stderr is not None
        said = [ui.stderr.readline() for _ in range(3)]
        assert f"MLflow:  {pages['mlflow']}/retrainings\n" in said
        assert httpx.get(f"{pages['prefect']}/ui-settings").json()["api_url"] == "/api"
        assert "viewStateShareKey=retrainings" in httpx.get(f"{pages['mlflow']}/retrainings").headers["location"]
        second = subprocess.run(command, capture_output=True, text=True, env=_at_home(), check=False)
        assert second.returncode == 2
        assert f"another `tucano ui` serves the state folder {copied} at {pages['prefect']}" in second.stderr
        servers = psutil.Process(ui.pid).children(recursive=True)
        assert len(servers) >= 2
        ui.kill()
    _, left = psutil.wait_procs(servers, timeout=60)
    assert left == []


def _at_home() -> dict[str, str]:
    """Return an environment without the tests' own settings of Prefect."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")} | {
        "PYTHONPATH": str(REPOSITORY)
    }


@pytest.fixture(scope="module")
def copied(pipeline: Pipeline, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder with finished stages, of our own."""
    copy = tmp_path_factory.mktemp("people") / "state"
    shutil.copytree(pipeline.root, copy)
    return copy


@pytest.fixture(scope="module")
def waiting(copied: Path, prefect_server: str) -> Ended:
    return retrain(copied, *PEOPLE, server=prefect_server, records=copied.parent / "records")


def sheet_in(root: Path) -> Path:
    (sheet,) = root.glob("scores/*/sheet.csv")
    return sheet


def test_a_run_that_waits_for_scores_names_the_sheet_and_samples_by_its_key(copied: Path, waiting: Ended) -> None:
    assert waiting.returncode == 4, waiting.stderr
    rows = read_rows(sheet_in(copied))
    assert len(rows) >= 48
    assert f"{len(rows)} completions of {sheet_in(copied)} wait for a score" in waiting.stderr
    assert "Traceback" not in waiting.stderr
    assert skipped(waiting.stderr) == ["synthesize", "curate", "base"]
    assert not any(map(is_scored, rows))
    ((modules, files),) = used_by_children(copied.parent / "records", "tasks.audit.rollouts")
    assert len(modules) > 10
    assert outside_key([*modules, *files], "tasks.audit.rollouts") == []


def test_scores_are_asked_for_once_and_decide_on_training(copied: Path, waiting: Ended, prefect_server: str) -> None:
    def scored(number: int, row: Row) -> dict[str, str]:
        return {**row, "human_score": str(1 + number % 5), "rater": "ana", "rater_kind": "human"}

    sheet = sheet_in(copied)
    rows = read_rows(sheet)
    write_rows(sheet, [scored(number, row) for number, row in enumerate(rows)])
    decided = retrain_here(copied, *PEOPLE, server=prefect_server)
    # Scores that have nothing to do with the completions cannot let anybody train.
    assert decided.returncode == 3, decided.stderr
    assert "sheet:" not in decided.stderr
    assert "tucano: the reward audit says no: " in decided.stderr
    assert not re.search("^train:", decided.stderr, flags=re.MULTILINE)
    assert "human" not in decided.stderr.rpartition("says no")[2]
