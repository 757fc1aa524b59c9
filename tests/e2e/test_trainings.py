"""`tucano train` where it does not simply go well: stopped, refused, or of several seeds, tasks and algorithms.

All of them go on from the stages before training that the first command made.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from flows.runtime.session import mlflow_store
from schemas.config.config import StateConfig
from tasks.policy.adapters import ADAPTER_FOLDER, TASK_ADAPTERS_FOLDER
from tasks.train.dpo.preferences import PAIRS_FILE
from tasks.train.preflight.check import PREFLIGHT_FILE
from tasks.train.summaries import SUMMARY_FILE, TASKS_FOLDER
from tests.small_pipeline import Ended, retrain, skipped

pytestmark = pytest.mark.e2e

BEFORE = ["synthesize", "curate", "audit", "base"]
TASKS = ["extraction", "push"]
SMALL = [
    "synthesize.counts={extraction=40, push=32}",
    # Enough for some completions that end and earn something, of which DPO makes its pairs, and too little for all.
    "warm_start.steps=150",
    "train.max_steps=2",
    "train.alarms.patience=1",
    "train.alarms.max_ceiling_share=0.01",
]
STOPS = 'train.alarms.stop_on=["ceiling"]'


def train(root: Path, *settings: str) -> Ended:
    return retrain(root, *(part for setting in (*SMALL, *settings) for part in ("--set", setting)), stage="train")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trainings")


@pytest.fixture(scope="module")
def stopped(root: Path) -> Ended:
    """The first command in the state folder."""
    return train(root, STOPS)


def runs_of(root: Path, stage: str) -> list[tuple[str, list[str]]]:
    """Return how each run of a stage in MLflow ended and what files it has, the newest first."""
    from mlflow import MlflowClient

    client = MlflowClient(mlflow_store(StateConfig(root=root))[0])
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    runs = client.search_runs(experiments, filter_string=f"tags.stage = '{stage}'", order_by=["start_time DESC"])
    return [(run.info.status, [file.path for file in client.list_artifacts(run.info.run_id)]) for run in runs]


def summary_in(training: dict[str, Any]) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((Path(training["path"]) / SUMMARY_FILE).read_text(encoding="utf-8"))
    return summary


def test_an_alarm_stops_again_until_it_may_no_longer(root: Path, stopped: Ended) -> None:
    assert stopped.exit_code == 3, stopped.said
    assert "train: alarm ceiling at step 1: " in stopped.said
    sentence = stopped.said.strip().splitlines()[-1]
    assert sentence.startswith("tucano: ")
    assert "raise train.max_completion_tokens" in sentence
    assert len(list(root.glob("mirror/*/manifests/*.json"))) == 1

    again = train(root, STOPS)
    assert again.exit_code == 3, again.said
    assert skipped(again.said) == BEFORE
    assert again.said.strip().splitlines()[-1] == sentence

    on = train(root)
    assert on.exit_code == 0, on.said
    assert "resumed at step 1" in on.said
    (training,) = on.document["trainings"]
    assert training["steps"] == 2


def test_a_failed_preflight_is_refused_and_kept(root: Path, stopped: Ended) -> None:
    refused = train(root, "train.max_steps=4", "train.preflight.min_prompts_per_task=9999")
    assert refused.exit_code == 3, refused.said
    assert refused.document is None
    assert skipped(refused.said) == BEFORE
    sentence = refused.said.strip().splitlines()[-1]
    assert sentence.startswith("tucano: the preflight failed 1 of ")
    assert "prompts_per_task: " in sentence
    assert "raise synthesize.counts.push" in sentence
    status, files = runs_of(root, "train")[0]
    assert status == "FAILED"
    assert PREFLIGHT_FILE in files


def test_seeds_with_an_adapter_a_task_are_a_policy_each(root: Path, stopped: Ended) -> None:
    ended = train(root, "train.seeds=[7, 8]", "train.adapter_per_task=true", "train.concurrent_trainings=2")
    assert ended.exit_code == 0, ended.said
    assert skipped(ended.said) == BEFORE
    trainings = ended.document["trainings"]
    assert [training["seed"] for training in trainings] == [7, 8]
    assert trainings[0]["sha256"] != trainings[1]["sha256"]
    for training in trainings:
        assert list(training["tasks"]) == TASKS
        policy = Path(training["path"])
        for task in TASKS:
            assert (policy / TASK_ADAPTERS_FOLDER / task / "adapter_model.safetensors").is_file()
        summary = summary_in(training)
        assert summary["chosen_step"] is None
        assert list(summary["chosen_steps"]) == TASKS
        of_tasks = [
            json.loads((policy / TASKS_FOLDER / task / SUMMARY_FILE).read_text(encoding="utf-8")) for task in TASKS
        ]
        for merged, *parts in zip(summary["validation"], *(each["validation"] for each in of_tasks), strict=True):
            assert merged["by_task"] == {task: part["mean_reward"] for task, part in zip(TASKS, parts, strict=True)}
        (status, files), *_ = runs_of(root, f"train-seed{training['seed']}")
        assert status == "FINISHED"
        assert {f"preflight-{task}.json" for task in TASKS} <= set(files)


def test_dpo_trains_on_pairs_of_the_base_policys_own_completions(root: Path, stopped: Ended) -> None:
    longer = "train.max_completion_tokens=64"
    ended = train(root, 'train.algorithm="dpo"', "train.preferences={min_gap=0.01, prompts=40}", longer)
    assert ended.exit_code == 0, ended.said
    assert skipped(ended.said) == BEFORE
    (training,) = ended.document["trainings"]
    assert (training["steps"], training["reused"]) == (2, False)
    summary = summary_in(training)
    assert summary["algorithm"] == "dpo"
    assert set(summary["pairs"]) <= set(TASKS)
    policy = Path(training["path"])
    assert (policy / ADAPTER_FOLDER / "adapter_model.safetensors").is_file()
    pairs = json.loads((policy / PAIRS_FILE).read_text(encoding="utf-8"))
    assert len(pairs) == sum(summary["pairs"].values())
