"""The store of a file of rollouts is found by its artifact, or by the questions in it."""

import json
import shutil
from pathlib import Path

import pytest

from flows.cli.score import store_of
from tasks.lineage.store.artifacts import ArtifactStore
from tests.flows.command import in_this_process
from tests.tasks.lineage.small_world import TRAINED, World, commit, documents, fill_prompts, make_world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("state") / "artifacts")


def content(world: World, stage: str) -> Path:
    record = world.made[stage]
    return world.root / record.kind / record.sha256 / "content"


def rollouts_of(prompt_id: str, file: Path) -> Path:
    row = {"prompt_id": prompt_id, "task": "sql_qa", "prompt": "Quantos?", "completion": "SELECT 1", "reference": None}
    file.write_text(json.dumps(row), encoding="utf-8")
    return file


def test_an_artifacts_rollouts_lead_to_the_store_of_its_prompts(world: World, tmp_path: Path) -> None:
    file = content(world, "answer-tuned") / "rollouts.jsonl"
    assert store_of(file, tmp_path / "no artifacts") == content(world, "synthesize") / "store"


def test_answers_of_a_model_that_learned_from_another_store_are_about_their_own_prompts(tmp_path: Path) -> None:
    """A champion answers the prompts of a later store than the one that it learned from."""
    learned_from, asked = (
        commit(tmp_path, "prompts", fill, "synthesize", {}) for fill in (fill_prompts, fill_other_prompts)
    )
    policy = commit(tmp_path, "policy", documents({"a.json": 1}), "train", {"prompts": learned_from.sha256})
    dataset = commit(tmp_path, "dataset", documents({"b.json": 1}), "curate", {"prompts": asked.sha256})
    made_from = {"dataset": dataset.sha256, "policy": policy.sha256}
    answers = commit(tmp_path, "answers", documents({"rollouts.jsonl": {}}), "evaluate", made_from)
    store = ArtifactStore(tmp_path)
    assert store_of(store.path(answers.sha256) / "rollouts.jsonl", tmp_path) == store.path(asked.sha256) / "store"


def test_a_copy_leads_there_by_its_questions(world: World, tmp_path: Path) -> None:
    assert store_of(rollouts_of(TRAINED.prompt_id, tmp_path / "a.jsonl"), world.root) == (
        content(world, "synthesize") / "store"
    )
    assert store_of(rollouts_of("0" * 64, tmp_path / "b.jsonl"), world.root) is None


def fill_other_prompts(folder: Path, file: str = "store/olist_orders_dataset.csv") -> None:
    """Write the same questions, beside which one file has another line."""
    fill_prompts(folder)
    with (folder / file).open("a", encoding="utf-8") as lines:
        lines.write("\n")


def test_questions_about_stores_that_differ_are_refused_and_the_stores_listed(tmp_path: Path) -> None:
    """The newest was taken, on which the same query earned something else."""
    state = tmp_path / "state"
    made = [
        commit(state / "artifacts", "prompts", fill, "synthesize", {}) for fill in (fill_prompts, fill_other_prompts)
    ]
    rollouts = rollouts_of(TRAINED.prompt_id, tmp_path / "a.jsonl")
    refused = in_this_process("score", rollouts, "--state", state)
    assert refused.returncode == 2
    (sentence,) = refused.text.splitlines()
    assert all(f"{each.sha256[:12]} of {each.created_at:%Y-%m-%d %H:%M}" in sentence for each in made)
    assert "--store" in sentence


def test_of_equal_stores_the_newest_is_taken(tmp_path: Path) -> None:
    commit(tmp_path, "prompts", fill_prompts, "synthesize", {})
    newest = commit(tmp_path, "prompts", lambda folder: fill_other_prompts(folder, "summary.json"), "synthesize", {})
    found = store_of(rollouts_of(TRAINED.prompt_id, tmp_path / "a.jsonl"), tmp_path)
    assert found == ArtifactStore(tmp_path).path(newest.sha256) / "store"


def test_prompts_that_cannot_be_read_are_passed_over_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, without_table, without_record = (
        commit(tmp_path, "prompts", fill, "synthesize", {})
        for fill in (
            fill_prompts,
            fill_other_prompts,
            lambda folder: fill_other_prompts(folder, "store/olist_customers_dataset.csv"),
        )
    )
    (tmp_path / "prompts" / without_table.sha256 / "content" / "prompts.parquet").unlink()
    (tmp_path / "prompts" / without_record.sha256 / "record.json").unlink()
    found = store_of(rollouts_of(TRAINED.prompt_id, tmp_path / "a.jsonl"), tmp_path)
    assert found == ArtifactStore(tmp_path).path(whole.sha256) / "store"
    warned = capsys.readouterr().err.splitlines()
    assert len(warned) == 2
    assert all(line.startswith("warning: ") and line.endswith("is passed over") for line in warned)
    assert any(without_table.sha256 in line for line in warned)
    assert any(without_record.sha256 in line for line in warned)


def test_a_record_that_leads_nowhere_is_told_and_the_questions_lead_on(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "artifacts"
    shutil.copytree(world.root, root)
    answers = world.made["answer-tuned"]
    (root / "dataset" / world.made["curate"].sha256 / "record.json").unlink()
    file = root / "answers" / answers.sha256 / "content" / "rollouts.jsonl"
    file.chmod(0o600)
    rollouts_of(TRAINED.prompt_id, file)
    assert store_of(file, root) == root / "prompts" / world.made["synthesize"].sha256 / "content" / "store"
    assert "is searched by the questions" in capsys.readouterr().err
