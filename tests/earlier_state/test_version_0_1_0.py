"""A state folder, a mirror and a checkpoint of version 0.1.0 are read by today's code.

`version-0.1.0.tar.xz` is what `tucano retrain --profile tests/e2e/small.toml` left in its state folder at that version,
with OMP_NUM_THREADS=1: its artifacts and its mirror.
"""

import shutil
import tarfile
from pathlib import Path

import polars as pl
import pytest

from benchmarks.checkpoints.trainings import request_again
from flows.runtime.session import artifacts_folder, open_store
from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.tables.prompts import read_prompts
from tasks.audit.past_versions import versions_of
from tasks.audit.stage import run as run_audit
from tasks.audit.stage import shipped_files
from tasks.checkpoints.address import open_mirror, trainings
from tasks.evaluate.answers.files import read_answers, read_timing
from tasks.evaluate.compare import read_report
from tasks.policy.child import run_child
from tasks.policy.load import ADAPTER_FOLDER
from tasks.train.summaries import read_summary, rewards_by_task
from tests.small_pipeline import PROFILE

KINDS: tuple[ArtifactKind, ...] = (
    "prompts", "dataset", "audit", "base", "policy", "plan", "answers", "evaluation", "promotion"
)  # fmt: skip
CHECKPOINT = 6
"""Step from which the training is resumed; it had eight."""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    with tarfile.open(Path(__file__).with_name("version-0.1.0.tar.xz")) as archive:
        archive.extractall(tmp_path, filter="data")
    return load_config(str(PROFILE), [f"state.root={tmp_path}"])


def newest(config: Config, kind: ArtifactKind) -> tuple[Path, ArtifactRecord]:
    store = open_store(config)
    record = store.records(kind)[0]
    return store.path(record.sha256), record


def test_every_artifact_is_whole_and_its_documents_are_read(config: Config) -> None:
    store = open_store(config)
    for kind in KINDS:
        assert store.records(kind), kind
        for record in store.records(kind):
            store.verify(record.sha256)
    assert (artifacts_folder(config) / "evaluation").is_dir()
    dataset, _ = newest(config, "dataset")
    tested = {row.prompt_id for row in read_prompts(dataset / "data" / "test.parquet")}
    assert len(tested) == 24
    answers, _ = newest(config, "answers")
    assert {answer.prompt_id for answer in read_answers(answers)} == tested
    assert read_timing(answers).machine_seconds
    report = read_report(newest(config, "evaluation")[0])
    assert report["overall"]["n_prompts"] == 24
    summary = read_summary(newest(config, "policy")[0])
    assert len(rewards_by_task(summary)) == 6
    assert len(versions_of(summary["audit"]["reward_version"])) == 6


@pytest.mark.integration
def test_a_checkpoint_is_resumed_to_the_policy_that_was_made_then(config: Config, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    (training,) = trainings(str(mirror))
    manifests = mirror / training / "manifests"
    for later in manifests.glob("*.json"):
        if int(later.stem.split("-")[0]) > CHECKPOINT:
            later.unlink()
    shutil.rmtree(mirror / training / "pins")
    opened = open_mirror(str(mirror), training)
    for manifest in opened.manifests():
        opened.verify(manifest)
    policy, record = newest(config, "policy")
    # No training starts by an audit of other rewards.
    audit = tmp_path / "audit"
    audit.mkdir()
    run_audit(shipped_files(), config.audit, config.rewards.spec, audit)
    request = request_again(config, record.sha256, tmp_path, str(mirror), training)
    # As completions were drawn, and learned from, then.
    as_then = request.config.model_copy(update={"stock_generation": True, "stock_update": True})
    said: list[str] = []
    run_child(
        "tasks.train.children.grpo",
        request.model_copy(update={"config": as_then, "audit": audit}),
        tmp_path / "work",
        interpreter=None,
        progress=lambda done, total, text: said.append(text),
    )
    assert f"resumed at step {CHECKPOINT}" in said
    made, kept = (folder / ADAPTER_FOLDER / "adapter_model.safetensors" for folder in (tmp_path / "output", policy))
    assert made.read_bytes() == kept.read_bytes()
    rollouts, earlier = (sorted((folder / "rollouts").iterdir()) for folder in (tmp_path / "output", policy))
    # What is rewarded has changed since then.
    rewarded = ("reward", "components")
    drawn, then = ([pl.read_parquet(file).drop(rewarded) for file in files] for files in (rollouts, earlier))
    assert len(drawn) == len(then)
    assert all(map(pl.DataFrame.equals, drawn, then))
