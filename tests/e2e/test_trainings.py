"""Trainings that do not simply go well: stopped, refused, killed, or of several seeds, tasks and algorithms.

All of them use the stages before training that the first command made.
"""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from benchmarks.checkpoints.child import LONG_FILE
from benchmarks.checkpoints.trainings import Moment, Result, Strike, live, request_again, result_of, run
from flows.runtime.session import mlflow_store
from schemas.config.config import StateConfig
from schemas.config.profiles import load_config
from tasks.policy.load import ADAPTER_FOLDER, TASK_ADAPTERS_FOLDER
from tasks.train.children.dpo import PAIRS_FILE
from tasks.train.preflight.check import PREFLIGHT_FILE
from tasks.train.request import TrainRequest
from tasks.train.summaries import SUMMARY_FILE, TASKS_FOLDER
from tests.cases import cases_of
from tests.flows.command import Ended
from tests.small_pipeline import PROFILE, retrain, retrain_here, skipped
from tests.source_records import outside_key, used_by_children

pytestmark = [pytest.mark.e2e, pytest.mark.long]

BEFORE = ["synthesize", "curate", "audit", "base"]
TASKS = ["extraction", "push"]
SMALL = cases_of(__file__)["SMALL"]
STOPS = 'train.alarms.stop_on=["ceiling"]'
STRUCK = cases_of(__file__)["STRUCK"]
"""Settings with which a training has all the state there is to lose."""
STRIKES = [
    Strike(Moment(0.0, "save", 3), empties=False),
    Strike(Moment(0.0, "upload", 3), empties=True),
    Strike(Moment(0.0, "evaluation", 2), empties=False),
    Strike(Moment(0.05, "step", 3), empties=True),
]
PHASES = {"optimizer": 3, "save": 2, "upload": 2, "sampling": 3, "scoring": 3}
"""Parts of a step in which a notice comes, and how often each has begun by then."""
SECONDS_OF_A_NOTICE = 8.0


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trainings")


@pytest.fixture(scope="module")
def train(root: Path, prefect_server: str) -> Callable[..., Ended]:
    """Return the command `tucano train` with some settings, in this process unless it needs one of its own."""

    def run_train(*settings: str, own_process: bool = False, records: Path | None = None) -> Ended:
        arguments = (part for setting in (*SMALL, *settings) for part in ("--set", setting))
        if own_process or records is not None:
            return retrain(root, *arguments, stage="train", server=prefect_server, records=records)
        return retrain_here(root, *arguments, stage="train", server=prefect_server)

    return run_train


@pytest.fixture(scope="module")
def stopped(train: Callable[..., Ended]) -> Ended:
    """The first command in the state folder."""
    return train(STOPS)


@pytest.fixture(scope="module")
def finished(root: Path, stopped: Ended, train: Callable[..., Ended]) -> Ended:
    """The stopped training where the alarm no longer stops it, by a process that finds all it knows in the folder."""
    assert len(list(root.glob("mirror/*/manifests/*.json"))) == 1
    return train(own_process=True)


def runs_of(root: Path, stage: str) -> list[tuple[str, list[str]]]:
    """Return how each run of a stage in MLflow ended and what files it has, the newest first."""
    from mlflow import MlflowClient

    client = MlflowClient(mlflow_store(StateConfig(root=root))[0])
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    runs = client.search_runs(experiments, filter_string=f"tags.stage = '{stage}'", order_by=["start_time DESC"])
    return [(run.info.status, [file.path for file in client.list_artifacts(run.info.run_id)]) for run in runs]


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def test_an_alarm_stops_again(stopped: Ended, train: Callable[..., Ended], request: pytest.FixtureRequest) -> None:
    assert stopped.returncode == 3, stopped.stderr
    assert "train: warning: alarm ceiling at step 1: " in stopped.stderr
    sentence = stopped.stderr.strip().splitlines()[-1]
    assert sentence.startswith("tucano: ")
    assert "raise train.max_completion_tokens" in sentence

    again = train(STOPS)
    assert again.returncode == 3, again.stderr
    assert skipped(again.stderr) == BEFORE
    assert again.stderr.strip().splitlines()[-1] == sentence

    finished = request.getfixturevalue("finished")
    (training,) = finished.document()["trainings"]
    assert all(each in finished.stderr for each in ("resumed at step 1", "rollouts drawn by our engine"))
    assert training["steps"] == 2


def test_a_failed_preflight_is_refused_and_kept(root: Path, stopped: Ended, train: Callable[..., Ended]) -> None:
    refused = train("train.max_steps=4", "train.preflight.min_prompts_per_task=9999")
    refused.refusal(3)
    assert skipped(refused.stderr) == BEFORE
    sentence = refused.stderr.strip().splitlines()[-1]
    assert sentence.startswith("tucano: the preflight failed 1 of ")
    assert "prompts_per_task: " in sentence
    # Of the tasks, the one that has the fewest prompts.
    assert any(f"raise synthesize.counts.{task}" in sentence for task in TASKS)
    status, files = runs_of(root, "train")[0]
    assert (status, PREFLIGHT_FILE in files) == ("FAILED", True)


def test_seeds_with_task_adapters_are_a_policy_each(root: Path, stopped: Ended, train: Callable[..., Ended]) -> None:
    ended = train("train.seeds=[7, 8]", "train.adapter_per_task=true", "workers.concurrent_children=2")
    trainings = ended.document()["trainings"]
    assert skipped(ended.stderr) == BEFORE
    assert [training["seed"] for training in trainings] == [7, 8]
    assert trainings[0]["sha256"] != trainings[1]["sha256"]
    for training in trainings:
        assert list(training["tasks"]) == TASKS
        policy = Path(training["path"])
        for task in TASKS:
            assert (policy / TASK_ADAPTERS_FOLDER / task / "adapter_model.safetensors").is_file()
        summary = read(policy, SUMMARY_FILE)
        assert summary["chosen_step"] is None
        assert list(summary["chosen_steps"]) == TASKS
        of_tasks = [read(policy / TASKS_FOLDER / task, SUMMARY_FILE) for task in TASKS]
        for merged, *parts in zip(summary["validation"], *(each["validation"] for each in of_tasks), strict=True):
            assert merged["by_task"] == {task: part["mean_reward"] for task, part in zip(TASKS, parts, strict=True)}
        (status, files), *_ = runs_of(root, f"train-seed{training['seed']}")
        assert status == "FINISHED"
        assert {f"preflight-{task}.json" for task in TASKS} <= set(files)


def test_without_a_step_the_policy_is_the_model_after_sft(stopped: Ended, train: Callable[..., Ended]) -> None:
    ended = train("train.max_steps=0")
    assert skipped(ended.stderr) == BEFORE
    (training,) = ended.document()["trainings"]
    summary = read(Path(training["path"]), SUMMARY_FILE)
    assert (summary["steps"], summary["chosen_step"], len(summary["validation"])) == (0, 0, 1)
    adapter = load_file(Path(training["path"]) / ADAPTER_FOLDER / "adapter_model.safetensors")
    # An adapter adds its B times its A.
    assert not any(weights.any() for name, weights in adapter.items() if "lora_B" in name)


def test_dpo_trains_on_own_pairs(root: Path, stopped: Ended, train: Callable[..., Ended], tmp_path: Path) -> None:
    longer = "train.max_completion_tokens=64"
    pairs_of = "train.preferences={min_gap=0.001, prompts=40}"
    ended = train('train.algorithm="dpo"', pairs_of, longer, records=tmp_path)
    (training,) = ended.document()["trainings"]
    assert skipped(ended.stderr) == BEFORE
    assert (training["steps"], training["reused"]) == (2, False)
    policy = Path(training["path"])
    summary = read(policy, SUMMARY_FILE)
    assert summary["algorithm"] == "dpo"
    assert set(summary["pairs"]) <= set(TASKS)
    assert (policy / ADAPTER_FOLDER / "adapter_model.safetensors").is_file()
    assert len(read(policy, PAIRS_FILE)) == sum(summary["pairs"].values())
    ((modules, files),) = used_by_children(tmp_path, "tasks.train.children.dpo")
    assert outside_key([*modules, *files], "tasks.train.children.dpo") == []


@pytest.fixture(scope="module")
def request_of_struck(root: Path, finished: Ended) -> TrainRequest:
    (training,) = finished.document()["trainings"]
    notice = f"train.preemption={{seconds={SECONDS_OF_A_NOTICE}}}"
    config = load_config(str(PROFILE), [*SMALL, *STRUCK, notice])
    return request_again(config, training["sha256"], root, str(root / "struck-mirror"), "uninterrupted")


@pytest.fixture(scope="module")
def uninterrupted(root: Path, request_of_struck: TrainRequest) -> Result:
    ended = run(request_of_struck, root / "uninterrupted", lambda _: None)
    assert ended.result is not None, ended.lives[0].sentence
    assert ended.result.rounds >= 1, "no prompt is drawn again in another order"
    return ended.result


def test_a_training_noticed_in_each_phase_of_a_step_leaves_in_time_and_ends_with_the_same_bytes(
    request_of_struck: TrainRequest, uninterrupted: Result, tmp_path: Path
) -> None:
    """The phase would outlast the notice; but a save and an upload, which leave time for what is saved last."""
    request, folder = request_of_struck.model_copy(update={"training": "noticed"}), tmp_path / "machine"
    folder.mkdir()
    for phase, occurrence in PHASES.items():
        seconds = 2.0 if phase in {"save", "upload"} else 60.0
        (folder / LONG_FILE).write_text(json.dumps({f"{phase} {occurrence}": seconds}), encoding="utf-8")
        life = live(request, folder, Moment(0.2, phase, occurrence), lambda child: os.killpg(child.pid, signal.SIGTERM))
        assert life.exit_code == 4, (phase, life.sentence)
        assert life.struck_at is not None, phase
        assert life.seconds - life.struck_at < SECONDS_OF_A_NOTICE, phase
        assert "which is mirrored" in life.sentence, phase
        assert life.resumed_from or phase == "optimizer", f"it began again before {phase}"
    (folder / LONG_FILE).unlink()
    last = request.model_copy(update={"output": tmp_path / "output"})
    assert live(last, folder).exit_code == 0
    assert result_of(last, tmp_path / "final").differences(uninterrupted) == []


def test_a_training_killed_four_times_ends_with_the_same_bytes(
    request_of_struck: TrainRequest, uninterrupted: Result, tmp_path: Path
) -> None:
    """The kills are within each part of a training.

    Whether a kill comes a moment before or after the end of a save is not decided here, and nothing depends on it.
    """
    struck = run(
        request_of_struck.model_copy(update={"training": "struck"}),
        tmp_path / "struck",
        lambda lives: STRIKES[len(lives)] if len(lives) < len(STRIKES) else None,
    )
    assert [life.exit_code for life in struck.lives] == [*(-signal.SIGKILL for _ in STRIKES), 0]
    assert all(life.resumed_from for life in struck.lives[1:]), "it began again"
    assert struck.result is not None
    assert struck.result.differences(uninterrupted) == []
